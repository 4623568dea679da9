"use strict";
// Below Airflow's pages there is a form to answer in; a file has none.
(() => {
  const below = window.location.pathname.split("/scaling/");
  if (below.length < 2) return;
  document.querySelectorAll("[data-airflow]").forEach((link) => {
    link.href = `${below[0]}/${link.dataset.airflow}`;
    link.hidden = false;
  });
})();
