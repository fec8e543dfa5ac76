import type { JSX } from 'preact';
import { counted } from '../../../text/format.ts';
import { marksOf } from '../../../text/text-marks.ts';
import type { Unit } from '../unit.ts';

type Box = NonNullable<Unit['box']>;

interface BoxLine {
  readonly fits: string;
  /** What does not fit. */
  readonly over: string;
}

/** Longest text that is drawn in its box; the field shows the others. */
const MAX_DRAWN = 4000;

/** The wide characters of East Asian texts, and those without a width. The checks use the whole table of Unicode. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const WITHOUT_WIDTH = /[\p{Mn}\p{Me}\p{Cf}\p{Cc}]/u;

/** The lines of a text as its game shows them: without tags, and cut at the columns of the box. */
export function linesInBox(text: string, { columns, lines, font_width: narrow }: Box): readonly BoxLine[] {
  let shown = '';
  let end = 0;
  for (const { kind, name, start, end: next } of marksOf(text)) {
    if (kind !== 'tag') continue;
    shown += text.slice(end, start) + (name === 'br' ? '\n' : '');
    end = next;
  }
  shown += text.slice(end);
  return shown.split(/\r\n|[\n\r]|\\n/).map((line, at) => {
    if (at >= (lines ?? Infinity)) return { fits: '', over: line };
    let width = 0;
    let length = 0;
    for (const character of line) {
      width += WIDE.test(character) ? 2 : WITHOUT_WIDTH.test(character) ? 0 : narrow;
      // Fractions of columns add up to a little more than they are.
      if (width > (columns ?? Infinity) + 1e-6) break;
      length += character.length;
    }
    return { fits: line.slice(0, length), over: line.slice(length) };
  });
}

/** The target in the box of the game; what overflows is red. */
export function GameBox({ text, box }: { text: string; box: Box }): JSX.Element | null {
  if (text.length > MAX_DRAWN) return null;
  const drawn = linesInBox(text, box);
  const { columns, lines } = box;
  const over = drawn.filter(({ over: rest }) => rest !== '').length;
  const size = [
    ...(columns === null ? [] : [counted(columns, 'column')]),
    ...(lines === null ? [] : [counted(lines, 'line')]),
  ].join(', ');
  return (
    <figure class="game-box">
      <figcaption class={over === 0 ? 'muted' : 'bad'}>
        {`Box of the game: ${size}`}
        {over === 0 ? '' : `. ${counted(over, 'line does', 'lines do')} not fit.`}
      </figcaption>
      {/* The field has the same text. */}
      <div
        aria-hidden="true"
        translate={false}
        style={{
          // A character of this font is 0.6 of its height wide; the box shrinks where there is less room.
          fontSize: `clamp(8px, calc((100cqi - 20px) / ${(columns ?? 1) * 0.61}), var(--font-14))`,
          width: columns === null ? '100%' : `calc(${columns}ch + 2 * var(--space-2))`,
          minHeight: lines === null ? undefined : `calc(${lines} * 1.5em + 2 * var(--space-2))`,
        }}
      >
        {drawn.map(({ fits, over: rest }, at) => (
          <p key={at}>
            {fits}
            {rest === '' ? null : <mark>{rest}</mark>}
          </p>
        ))}
      </div>
    </figure>
  );
}
