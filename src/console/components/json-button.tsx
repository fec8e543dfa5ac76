import type { JSX } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { renderExact } from '../text/exact-json.ts';
import { CopyLine } from './copy-line.tsx';
import { RawText } from './text.tsx';

/** A longer text would make the page slow; the command prints everything. Characters. */
const MOST_CHARACTERS = 100_000;

interface JsonButtonProps {
  readonly title: string;
  readonly value: unknown;
  readonly command: string;
}

/** A button that shows the data of a panel as it came, with the command that prints it. */
export function JsonButton(props: JsonButtonProps): JSX.Element {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="plain json-view" onClick={() => setOpen(true)}>
        <span aria-hidden="true">{'</> '}</span>JSON<span class="unseen">{` of ${props.title}`}</span>
      </button>
      {open ? <JsonDialog {...props} onClosed={() => setOpen(false)} /> : null}
    </>
  );
}

function JsonDialog({
  title,
  value,
  command,
  onClosed,
}: JsonButtonProps & { readonly onClosed: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // As it was when it was opened: text that changes cannot be read or selected.
  const [text] = useState(() => renderExact(value, 2));
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label={`JSON of ${title}`} class="wide" onClose={onClosed}>
      <div class="dialog-head">
        <h2>{title}</h2>
        <button type="button" class="plain" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
      <CopyLine line={command} />
      <RawText label={`JSON of ${title}`} text={text.slice(0, MOST_CHARACTERS)} />
      {text.length > MOST_CHARACTERS ? <p class="muted">The rest is cut; the command prints all.</p> : null}
    </dialog>
  );
}
