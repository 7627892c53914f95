/** Light, dark, or as the system has it: kept for the next visit. */

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const key = "plimsoll.theme";

class ThemeChoice {
  current: Theme = $state(kept());

  choose(theme: Theme): void {
    this.current = theme;
    this.show();
    try {
      localStorage.setItem(key, theme);
    } catch {
      // Storage is switched off: it holds until the page is closed.
    }
  }

  show(): void {
    const { dataset } = document.documentElement;
    if (this.current === "system") delete dataset["theme"];
    else dataset["theme"] = this.current;
  }
}

function kept(): Theme {
  try {
    const found = localStorage.getItem(key);
    return themes.find((theme) => theme === found) ?? "system";
  } catch {
    return "system";
  }
}

export const themeChoice: ThemeChoice = new ThemeChoice();

/** Somebody, or the system, has chosen other colours: what is drawn by script is drawn again. Answers how to stop. */
export function onThemeChange(again: () => void): () => void {
  const theme = new MutationObserver(again);
  theme.observe(document.documentElement, { attributeFilter: ["data-theme"] });
  const dark = matchMedia("(prefers-color-scheme: dark)");
  dark.addEventListener("change", again);
  return () => {
    theme.disconnect();
    dark.removeEventListener("change", again);
  };
}
