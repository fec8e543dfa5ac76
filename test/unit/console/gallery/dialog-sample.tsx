import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { Button, LogOutButton } from '../../../../src/console/components/controls.tsx';
import type { ComponentSample } from './sample.ts';

/** A dialog with a question. The browser keeps the focus in it, and the Escape key closes it. */
export const dialogSample: ComponentSample = { title: 'Dialog', Body };

function Body(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const close = (): void => dialog.current?.close();
  return (
    <>
      <p class="buttons">
        <Button onClick={() => dialog.current?.showModal()}>Open the dialog</Button>
        <LogOutButton />
      </p>
      <dialog ref={dialog} aria-labelledby="sample-dialog">
        <div class="dialog-head">
          <h2 id="sample-dialog">Delete 3 files?</h2>
          <Button class="plain" onClick={close}>
            Close
          </Button>
        </div>
        <p>The sample deletes nothing.</p>
        <p class="buttons">
          <Button onClick={close}>Keep them</Button>
          <Button class="danger" onClick={close}>
            Yes, delete 3 files
          </Button>
        </p>
      </dialog>
    </>
  );
}
