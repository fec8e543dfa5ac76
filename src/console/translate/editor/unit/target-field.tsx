import type { JSX, RefObject } from 'preact';
import { ChipText, type MarkedSpan } from '../../../components/chip-text.tsx';

/** Longer texts are edited without colours: each key would draw them again. */
const MAX_COLOURED = 12_000;

/**
 * The field in which a target is written. Behind the letters lies the same text with its placeholders, tags and findings in
 * colour; the field itself is plain, so that input methods, undo and screen readers work as everywhere.
 */
export function TargetField({
  field,
  text,
  source,
  placeholders,
  spans,
  lang,
  isDisabled,
  describedBy,
  onInput,
}: {
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly text: string;
  readonly source: string;
  readonly placeholders: readonly string[];
  readonly spans: readonly MarkedSpan[];
  readonly lang: string | undefined;
  readonly isDisabled: boolean;
  readonly describedBy: string;
  readonly onInput: (text: string) => void;
}): JSX.Element {
  return (
    <div class="target-field">
      <div class="target-mirror" dir="auto" aria-hidden="true">
        {text.length <= MAX_COLOURED ? (
          <ChipText
            text={text}
            source={source}
            placeholders={placeholders}
            spans={spans}
            lang={lang}
            isPlain
          />
        ) : (
          text
        )}
        {/* A line break at the end has no height without a character behind it. */}
        {'\u200b'}
      </div>
      <textarea
        ref={field}
        id="target"
        aria-describedby={describedBy}
        value={text}
        lang={lang}
        dir="auto"
        rows={2}
        spellcheck={true}
        disabled={isDisabled}
        translate={false}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
    </div>
  );
}

/** Puts a text at the selection of a field, so that the browser can undo it. */
export function insertAtSelection(field: HTMLTextAreaElement, text: string): void {
  field.focus();
  // The only call that keeps the history of undo; browsers have no other one for it.
  const isDone = document.execCommand('insertText', false, text);
  if (isDone) return;
  field.setRangeText(text, field.selectionStart, field.selectionEnd, 'end');
  field.dispatchEvent(new Event('input', { bubbles: true }));
}

/** Replaces the whole text of a field, so that the browser can undo it. */
export function replaceText(field: HTMLTextAreaElement, text: string, caret = text.length): void {
  field.focus();
  field.select();
  if (text === '') {
    if (field.value !== '') document.execCommand('delete');
  } else insertAtSelection(field, text);
  field.setSelectionRange(caret, caret);
}

/** A text between the server and a text field, which knows one kind of line end only; pure. */

/** The text as a field holds it: each line end is a line feed. */
export function toField(text: string): string {
  return text.replaceAll(/\r\n?/g, '\n');
}

/** The text of a field with the line ends of the source: a game may read only these. */
export function fromField(text: string, source: string): string {
  const lineEnd = /\r\n?|\n/.exec(source)?.[0] ?? '\n';
  return lineEnd === '\n' ? text : text.replaceAll('\n', lineEnd);
}

/** Where a place of a text is in the field; UTF-16 code units. */
export function fieldOffset(text: string, offset: number): number {
  return toField(text.slice(0, offset)).length;
}

interface TextSize {
  readonly characters: number;
  readonly lines: number;
}

/** Characters and lines of a text, as the checks count them. */
export function sizeOf(text: string): TextSize {
  let characters = 0;
  for (const _ of text) characters += 1;
  return { characters, lines: text === '' ? 0 : (text.match(/\r\n|[\n\r]|\\n|<br>/gi)?.length ?? 0) + 1 };
}
