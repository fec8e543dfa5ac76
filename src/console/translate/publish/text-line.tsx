import type { JSX } from 'preact';
import { useId } from 'preact/hooks';

/** A line of text with its label. */
export function TextLine({
  label,
  value,
  onInput,
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
}): JSX.Element {
  // Two forms of the page have fields with the same label.
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input id={id} type="text" value={value} onInput={(event) => onInput(event.currentTarget.value)} />
    </div>
  );
}
