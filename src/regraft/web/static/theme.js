// Before the first paint: the chosen theme, or the system's.
const chosen = localStorage.getItem("regraft-theme");
const dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
document.documentElement.dataset.theme = dark ? "dark" : "light";
