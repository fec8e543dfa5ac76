import { isSameLanguage } from '../text/language-tag.ts';
import type { LanguagePair } from '../glossary/term.ts';

/** A pair of languages in the codes of DeepL. */
interface DeeplPair {
  /** DeepL translates from a language, whatever its variant. */
  readonly source: string;
  /** With the variant where DeepL has several. */
  readonly target: string;
  /** Dictionaries of glossaries have no variants. */
  readonly dictionary: { readonly source_lang: string; readonly target_lang: string };
}

/**
 * The codes of DeepL for a pair of languages. A language that DeepL has in variants gets the likely one when its tag names none:
 * `en` is `EN-US`, `pt` is `PT-BR`, `zh-TW` is `ZH-HANT`.
 *
 * Source: developers.deepl.com, "Languages supported" and the glossaries of version 3.
 */
export function deeplPair({ sourceLanguage, targetLanguage }: LanguagePair): DeeplPair {
  const [source, target] = [baseOf(sourceLanguage), baseOf(targetLanguage)];
  return {
    source: source.toUpperCase(),
    target: [target, variantOf(targetLanguage)].filter(Boolean).join('-').toUpperCase(),
    dictionary: { source_lang: source, target_lang: target },
  };
}

function baseOf(tag: string): string {
  const { language } = new Intl.Locale(tag);
  return language === 'no' ? 'nb' : language;
}

function variantOf(tag: string): string | null {
  const locale = new Intl.Locale(tag);
  const { language, script, region } = locale.maximize();
  if (language === 'zh') return script ?? null;
  if (language === 'en') return region === 'US' ? 'US' : 'GB';
  if (language === 'pt') return region === 'BR' ? 'BR' : 'PT';
  return language === 'es' && ![undefined, 'ES'].includes(locale.region) ? '419' : null;
}

/** Codes of LibreTranslate and its models that are no language tags of their language. */
const OTHER_CODES: Readonly<Record<string, string>> = { pb: 'pt-BR', zt: 'zh-Hant', no: 'nb' };

/**
 * The code that a server has for a language.
 *
 * @param offered the codes of the server, such as `zt` or `pt-BR`
 * @returns `null` when it does not have the language in this script and region
 */
export function offeredCode(wanted: string, offered: readonly string[]): string | null {
  const tag = tagOf(wanted);
  const exact = offered.find((code) => tagOf(code).toLowerCase() === tag.toLowerCase());
  return exact ?? offered.find((code) => isSameLanguage(tagOf(code), tag)) ?? null;
}

function tagOf(code: string): string {
  return OTHER_CODES[code.toLowerCase()] ?? code;
}
