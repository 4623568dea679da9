"use strict";
// Whether the page is dark: as Airflow is where Airflow shows the page in its frame, else as the browser says.
const theme = (() => {
  const outside = () => {
    try {
      return window.parent === window ? null : window.parent.document.documentElement;
    } catch {
      return null;
    }
  };
  const browser = window.matchMedia("(prefers-color-scheme: dark)");
  const airflow = outside();
  const isDark = () => {
    const scheme = airflow ? window.parent.getComputedStyle(airflow).colorScheme : "";
    return scheme === "dark" || (scheme !== "light" && browser.matches);
  };
  const dark = isDark();
  if (airflow) document.documentElement.style.colorScheme = dark ? "dark" : "light";
  // Figures are drawn once: in other colours they are drawn anew.
  const follow = () => { if (isDark() !== dark) window.location.reload(); };
  browser.addEventListener("change", follow);
  if (airflow) new MutationObserver(follow).observe(airflow, { attributes: true });
  return { dark };
})();
