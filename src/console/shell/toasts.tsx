import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { Button } from '../components/controls.tsx';

/** How long a toast is shown, milliseconds. */
const SHOWN_MS = 6000;
/** The same where it can take the act back: a person must have seen the result of it first. */
const UNDO_SHOWN_MS = 60_000;
/** More would cover the page. */
const MAX_SHOWN = 3;

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'ok' | 'bad';
  readonly undo?: (() => void) | undefined;
}

/** The results that the page shows now. */
export class Toasts {
  readonly shown = signal<readonly Toast[]>([]);
  #next = 0;

  close(id: number): void {
    this.shown.value = this.shown.peek().filter((toast) => toast.id !== id);
  }

  show(text: string, tone: Toast['tone'], undo?: () => void): void {
    const id = (this.#next += 1);
    const others = this.shown.peek().filter((toast) => toast.text !== text);
    this.shown.value = [...others, { id, text, tone, undo }].slice(-MAX_SHOWN);
    // A refusal stays until the person has closed it.
    if (tone === 'ok') setTimeout(() => this.close(id), undo === undefined ? SHOWN_MS : UNDO_SHOWN_MS);
  }
}

/** Draws the toasts. The announcer speaks them. */
export function ToastList({ toasts }: { toasts: Toasts }): JSX.Element | null {
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
