import { signal, type ReadonlySignal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button } from '../components/controls.tsx';

/** How long a toast is shown, milliseconds. */
const SHOWN_MS = 6000;
/** More would cover the page. */
const MAX_SHOWN = 3;

/** The result of something that the person did. */
export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'ok' | 'bad';
  /** Takes it back. */
  readonly undo?: (() => void) | undefined;
}

/** The toasts of a page. */
export interface Toasts {
  readonly shown: ReadonlySignal<readonly Toast[]>;
  show(text: string, tone: Toast['tone'], undo?: () => void): void;
  close(id: number): void;
}

/** Makes the toasts of a page. @param timers can be replaced by tests */
export function createToasts(timers: Pick<typeof globalThis, 'setTimeout'> = globalThis): Toasts {
  const shown = signal<readonly Toast[]>([]);
  let next = 0;
  const close = (id: number): void => {
    shown.value = shown.peek().filter((toast) => toast.id !== id);
  };
  return {
    shown,
    close,
    show: (text, tone, undo) => {
      next += 1;
      const id = next;
      shown.value = [...shown.peek().filter((toast) => toast.text !== text), { id, text, tone, undo }].slice(
        -MAX_SHOWN,
      );
      // A refusal stays until the person has closed it.
      if (tone === 'ok') timers.setTimeout(() => close(id), SHOWN_MS);
    },
  };
}

/** Draws the toasts. The announcer speaks them. */
export function ToastList({ toasts }: { readonly toasts: Toasts }): JSX.Element | null {
  if (toasts.shown.value.length === 0) return null;
  return (
    <section aria-label="Results">
      <ul class="toasts">
        {toasts.shown.value.map(({ id, text, tone, undo }) => (
          <li class={`toast ${tone}`} key={id}>
            <span class="sign" aria-hidden="true">
              {tone === 'ok' ? '✓' : '✕'}
            </span>
            <span>{text}</span>
            {undo === undefined ? null : (
              <Button
                onClick={() => {
                  toasts.close(id);
                  undo();
                }}
                about={text}
              >
                Undo
              </Button>
            )}
            <Button class="plain" onClick={() => toasts.close(id)} about={text}>
              Close
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
