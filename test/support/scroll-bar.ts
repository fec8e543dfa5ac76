import type { Locator } from 'playwright-core';

/** Moves the scroll bar of an element by steps, one in each frame. */
export async function scroll(grid: Locator, places: readonly number[]): Promise<void> {
  await grid.evaluate(async (element, shares) => {
    const box = element as unknown as { scrollTop: number; scrollHeight: number; clientHeight: number };
    for (const share of shares) {
      box.scrollTop = share * (box.scrollHeight - box.clientHeight);
      await new Promise((resolve) =>
        (
          globalThis as unknown as { requestAnimationFrame: (next: (at: number) => void) => void }
        ).requestAnimationFrame(resolve),
      );
    }
  }, places);
}
