import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { diffTexts } from '../text/diff-texts.ts';
import { tokensOf } from '../text/text-tokens.ts';

const MAX_CHARACTERS = 20_000;

/** The difference of two texts in one line of reading: removed words struck through, added ones underlined. */
export function DiffText({
  before,
  after,
  lang,
}: {
  readonly before: string;
  readonly after: string;
  readonly lang?: string | undefined;
}): JSX.Element {
  return useMemo(() => drawDiff(before, after, lang), [before, after, lang]);
}

function drawDiff(before: string, after: string, lang: string | undefined) {
  const parts = diffTexts(before, after);
  return (
    <span class="diff-text" dir="auto" translate={false} lang={lang}>
      {parts.map(({ kind, text }, at) => {
        const content = visible(text);
        if (kind === 'removed') {
          return (
            <del key={at}>
              <span class="unseen">removed: </span>
              {content}
            </del>
          );
        }
        if (kind === 'added') {
          return (
            <ins key={at}>
              <span class="unseen">added: </span>
              {content}
            </ins>
          );
        }
        return <span key={at}>{content}</span>;
      })}
    </span>
  );
}

function visible(text: string): ComponentChildren {
  return tokensOf(text.slice(0, MAX_CHARACTERS)).map(({ kind, label, start, end }) => {
    if (kind === 'invisible') return `⟦${label}⟧`;
    if (kind === 'break' && label === '↵') return '↵\n';
    if (kind === 'text' || kind === 'break') return text.slice(start, end);
    return (
      <span class={`chip ${kind}`} key={start}>
        {label}
      </span>
    );
  });
}
