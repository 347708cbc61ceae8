// To be imported by main.ts before all else, which its name sees to. Some browsers on machines without a locale give a language that their own Intl refuses ("en-US@posix");
// uPlot asks Intl for it when it is loaded, and nothing would be shown.

function usable(): string {
  try {
    new Intl.NumberFormat(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en', configurable: true });
  }
  return navigator.language;
}

/** The reader's language, as far as the browser knows it. */
export const language: string = usable();
