import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Button } from '../components/controls.tsx';
import { useApp } from '../state/app.ts';

/** The keys that work on the page behind it. */
export function PageKeysDialog({ onClosed }: { readonly onClosed: () => void }): JSX.Element {
  const app = useApp();
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog class="page-keys" aria-labelledby="keys-title" ref={dialog} onClose={onClosed}>
      <div class="dialog-head">
        <h2 id="keys-title">Keys of this page</h2>
        <Button class="plain" onClick={() => dialog.current?.close()}>
          Close
        </Button>
      </div>
      <dl>
        {app.keyboard.keys.value.map(({ keys, text }) => (
          <div key={keys}>
            <dt>
              <kbd>{app.keyboard.nameOf(keys)}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </dialog>
  );
}
