import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { counted } from '../text/format.ts';
import { layerSpans, tokensOf, type TextRun, type TextSpan } from '../text/text-tokens.ts';

export interface MarkedSpan extends TextSpan {
  readonly tone: 'ok' | 'warn' | 'bad' | 'info' | 'idle';
  readonly note: string;
}

interface ChipTextProps {
  readonly text: string;
  readonly placeholders?: readonly string[];
  readonly source?: string;
  readonly spans?: readonly MarkedSpan[];
  readonly lang?: string | undefined;
  /** Only colours, and not one character more or less: for the back of a field with the same text. */
  readonly isPlain?: boolean;
}

/** Longest text that is drawn; the rest is counted. A page must not freeze on one text. */
const MAX_CHARACTERS = 20_000;

/**
 * A text of a game as it is stored: placeholders and tags as chips, line breaks and invisible characters made visible, and
 * findings and terms laid over it. No character of the text can change the direction of the page around it.
 */
export function ChipText(props: ChipTextProps): JSX.Element {
  const { text, placeholders = [], source, spans = [], lang, isPlain } = props;
  const marked = spans.map(({ start, end, tone, note }) => `${start} ${end} ${tone} ${note}`);
  // A long text takes longer to draw than a key may, so that only another text is drawn again.
  return useMemo(
    () => drawText(props),
    [text, placeholders.join('\n'), source, marked.join('\n'), lang, isPlain],
  );
}

function drawText({ text, placeholders, source, spans = [], lang, isPlain = false }: ChipTextProps) {
  const shown = text.slice(0, MAX_CHARACTERS);
  const hints = { ...(placeholders ? { placeholders } : {}), ...(source ? { source } : {}) };
  const runs = layerSpans(shown, tokensOf(shown, hints), spans);
  return (
    <span
      class={isPlain ? 'plain-text' : 'chip-text'}
      // The back of a field takes its direction from the whole text, as the field does.
      dir={isPlain ? undefined : 'auto'}
      translate={false}
      lang={lang}
    >
      {runs.map((run, at) => (
        // By its number: a letter in front moves all that follows, and must not make it again.
        <Run run={run} spans={spans} isPlain={isPlain} key={at} />
      ))}
      {text.length > MAX_CHARACTERS ? (
        <span class="text-rest">{` … and ${counted(text.length - MAX_CHARACTERS, 'more character')}`}</span>
      ) : null}
    </span>
  );
}

function Run({
  run,
  spans,
  isPlain,
}: {
  readonly run: TextRun;
  readonly spans: readonly MarkedSpan[];
  readonly isPlain: boolean;
}): ComponentChildren {
  const { token } = run;
  const content = token.kind === 'text' ? run.text : isPlain ? <Colour run={run} /> : <Chip run={run} />;
  const [first] = run.spans;
  if (first === undefined) return content;
  const notes = run.spans.map((at) => spans[at]?.note ?? '').filter((note) => note !== '');
  return (
    <mark class={`text-span ${spans[first]?.tone ?? 'info'}`} title={notes.join('\n')}>
      {content}
    </mark>
  );
}

function Colour({ run: { token, text } }: { run: TextRun }) {
  return <span class={`coloured ${token.kind}`}>{text}</span>;
}

function Chip({ run: { token } }: { run: TextRun }) {
  const isLineEnd = token.kind === 'break' && token.label === '↵';
  return (
    <>
      <span class={`chip ${token.kind}`} title={token.meaning}>
        {token.label}
      </span>
      {isLineEnd ? '\n' : null}
    </>
  );
}
