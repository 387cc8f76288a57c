"""`timeveil serve`: the local web app, the same jobs as the command line in a browser on this machine."""
