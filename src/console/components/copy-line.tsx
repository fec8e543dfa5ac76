import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { useApp } from '../state/app.ts';

/** How long the button says what it did, milliseconds. */
const TOLD_MS = 2000;

/** A command, and a button that copies it. */
export function CopyLine({ line }: { line: string }): JSX.Element {
  const app = useApp();
  const [told, setTold] = useState('Copy');
  const code = useRef<HTMLElement>(null);
  const copy = async (): Promise<void> => {
    const result = (await copied(line, code.current)) ? 'Copied' : 'Selected: copy it with the keyboard';
    setTold(result);
    app.announce('copy', `${result}: ${line}`);
    setTimeout(() => setTold('Copy'), TOLD_MS);
  };
  return (
    <p class="copy-line">
      <code ref={code}>{line}</code>
      <button type="button" class="plain" onClick={() => void copy()}>
        {told}
        <span class="unseen"> command</span>
      </button>
    </p>
  );
}

/** Browsers give the clipboard only to secure origins, and plain HTTP to another host is not one: then it is selected. */
async function copied(text: string, element: HTMLElement | null): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    if (element !== null) getSelection()?.selectAllChildren(element);
    return false;
  }
}
