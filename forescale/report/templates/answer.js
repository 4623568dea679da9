"use strict";
// Below Airflow's pages there is a form to answer in; a file has none.
(() => {
  const below = window.location.pathname.split("/scaling/");
  document.querySelectorAll("[data-airflow]").forEach((link) => {
    if (below.length < 2) return;
    link.href = `${below[0]}/${link.dataset.airflow}`;
    link.hidden = false;
    // Airflow shows these pages in a frame that may not turn the window itself to another page.
    link.addEventListener("click", (event) => {
      if (window.top === window) return;
      event.preventDefault();
      const outer = window.top.document.createElement("a");
      outer.href = link.href;
      outer.click();
    });
  });
})();
