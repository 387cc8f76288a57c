"""Paper 3: (k,P)-anonymity of time series (Shou, Shang, Chen, Chen, Zhang 2013)."""
