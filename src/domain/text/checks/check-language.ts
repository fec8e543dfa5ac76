import { normalText } from '../normal-text.ts';
import type { Check, CheckTexts } from './check-texts.ts';
import { finding, shown } from './finding.ts';
import type { Markup } from './find-markup.ts';
import { matchesOf } from './matches-of.ts';

const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]+/gu;

/** Languages that are written in Han. */
export const HAN_LANGUAGES = ['zh', 'yue', 'cmn', 'lzh'] as const;

/** The language of a BCP 47 tag, such as `zh` of `zh-Hans`. */
export function primaryLanguage(tag: string): string {
  const end = tag.search(/[-_]/);
  return (end === -1 ? tag : tag.slice(0, end)).toLowerCase();
}

/** `target_equals_source` and `kana_residue`; the first one says it all. */
export const checkKana: Check = function* (texts: CheckTexts) {
  const { input, source, target } = texts;
  if (normalized(source) === normalized(target)) {
    if (source.masked.search(KANA) !== -1 && input.sourceLanguage !== input.targetLanguage) {
      yield finding('target_equals_source', 'the target is the source, which has kana');
    }
    return;
  }
  if (primaryLanguage(input.targetLanguage) === 'ja') return;
  for (const { 0: kana, index } of matchesOf(target.masked, KANA)) {
    const span = { start: index, end: index + kana.length };
    yield finding('kana_residue', `the target has the kana ${shown(kana)}`, { target: span });
  }
};

function normalized({ text }: Markup): string {
  return normalText(text);
}
