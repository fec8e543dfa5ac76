import type { Locator, Page } from 'playwright-core';

/** More elements than any page has. */
const MOST_STEPS = 400;

/**
 * Moves the focus to an element with the Tab key alone, forwards or back.
 *
 * @throws Error if the key does not lead there
 */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let step = 0; step < MOST_STEPS; step += 1) {
    const key = await target.evaluate(keyTowards);
    if (key === null) return;
    await page.keyboard.press(key);
  }
  throw new Error(`Tab does not lead to ${String(target)}`);
}

/** Reaches a control with Tab, and presses a key on it. */
export async function pressOn(page: Page, target: Locator, key = 'Enter'): Promise<void> {
  await tabTo(page, target);
  // A page that reads its data again meanwhile may have drawn the control anew.
  await target.press(key);
}

/** Reaches a field with Tab, and types a text in the place of what it has; into a list of choices, the beginning of one. */
export async function typeInto(page: Page, target: Locator, text: string): Promise<void> {
  await tabTo(page, target);
  await page.keyboard.press('Control+a');
  await page.keyboard.type(text);
}

/** The key that leads from the element with the focus to this one; `null` when it has the focus. Runs in the page. */
function keyTowards(element: unknown): string | null {
  const { document } = globalThis as unknown as {
    readonly document: { readonly activeElement: PageElement; readonly body: PageElement };
  };
  const at = document.activeElement;
  if (at === element) return null;
  // 2: it comes before the other one (DOCUMENT_POSITION_PRECEDING).
  const isBefore = at !== document.body && (at.compareDocumentPosition(element) & 2) !== 0;
  return isBefore ? 'Shift+Tab' : 'Tab';
}

/** The part of an element that is used. */
interface PageElement {
  compareDocumentPosition(other: unknown): number;
}
