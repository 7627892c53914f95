/** The colour theme: light, dark, or the same as the system. It is remembered for the next visit. */

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
      // Storage is disabled, so the theme is remembered only until the page is closed.
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

/**
 * Calls `again` when the user or the system changes the colours, so that drawings made by scripts can be redrawn. Returns a
 * function that unsubscribes.
 */
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
