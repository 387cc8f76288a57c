// Progress, the curve while it is computed, and copying. Every form works without this.
for (const section of document.querySelectorAll("[data-events]")) {
  const source = new EventSource(section.dataset.events);
  const bar = section.querySelector("progress");
  const step = section.querySelector("[data-step]");
  const figure = section.querySelector("[data-picture]");
  source.onmessage = (event) => {
    const news = JSON.parse(event.data);
    if (bar) bar.value = news.share;
    if (step) step.textContent = news.step;
    if (figure && news.svg) {
      const parsed = new DOMParser().parseFromString(news.svg, "text/html");
      figure.replaceChildren(...parsed.body.childNodes);
    }
    if (news.state !== "running") {
      source.close();
      location.replace(location.href);
    }
  };
  source.onerror = () => {
    source.close();
    if (step) step.textContent = "The server does not answer. Load this page again.";
  };
}

for (const button of document.querySelectorAll("[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
  });
}
