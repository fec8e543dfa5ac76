/** Uses the storage of the browser, which can be switched off. @returns `undefined` then; the value lasts as long as the page */
export function attempt<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
