import { literalPattern } from '../../src/platform/literal-pattern.ts';
import { codeBlocks } from './guide-commands.ts';

/** An example of a guide: commands, and the output that the guide shows for them. */
export interface GuideExample {
  readonly script: string;
  /** Lines of the output, in their order; the output may have others between them. */
  readonly shown: readonly string[];
}

/** The blocks `sh` of a page in their order, each with the block `text` that follows it. */
export function guideExamples(page: string): readonly GuideExample[] {
  const blocks = codeBlocks(page).filter(({ language }) => /^(?:sh|text)$/.test(language));
  return blocks.flatMap(({ language, text }, index) => {
    if (language !== 'sh') return [];
    const next = blocks[index + 1];
    return [{ script: text, shown: next?.language === 'text' ? next.text.trimEnd().split('\n') : [] }];
  });
}

/**
 * The first line that a guide shows and a program did not print; `null` when it printed all, in this order. Numbers, spaces and what
 * `...` stands for may differ.
 */
export function missingLine(shown: readonly string[], printed: string): string | null {
  const rest = printed.split('\n').values();
  for (const line of shown) {
    const pattern = new RegExp(patternOf(line));
    if (!rest.some((candidate) => pattern.test(candidate))) return line;
  }
  return null;
}

function patternOf(line: string): string {
  return line
    .trim()
    .split('...')
    .map((part) =>
      literalPattern(part)
        .replaceAll(/\d+/g, String.raw`\d+`)
        .replaceAll(/ +/g, String.raw`\s+`),
    )
    .join('.*');
}
