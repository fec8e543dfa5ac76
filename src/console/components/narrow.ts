import { signal, type ReadonlySignal } from '@preact/signals';

/** Below this width a row has two lines; `styles` has the same number. */
const NARROW = '(max-width: 719.98px)';

let narrow: ReadonlySignal<boolean> | null = null;

/** Whether the page is narrow, such as on a phone. A component that reads it is drawn again when that changes. */
export function isNarrow(): boolean {
  if (narrow === null) {
    const query = globalThis.matchMedia(NARROW);
    const made = signal(query.matches);
    query.addEventListener('change', () => {
      made.value = query.matches;
    });
    narrow = made;
  }
  return narrow.value;
}
