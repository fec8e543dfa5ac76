import type { ParseConfiguration } from '../rules/parse-config.ts';

export type Script = ParseConfiguration['sourceScript'];

/** The languages of a script. A text in Latin letters is taken for English where there are several languages. */
const LANGUAGES_OF: Readonly<Partial<Record<Script, readonly string[]>>> = {
  japanese: ['ja', 'jp'],
  korean: ['ko', 'kr'],
  chinese: ['zh', 'cn', 'tw'],
  cyrillic: ['ru', 'uk', 'be', 'bg'],
  thai: ['th'],
  latin: ['en'],
};

/** Codes that are words too, so that alone they do not show that fields are named after languages. */
const WORDS: ReadonlySet<string> = new Set(['be', 'id', 'in', 'it', 'no']);
const CODES =
  'ar|be|bg|ca|cn|cs|da|de|el|en|eo|es|et|eu|fa|fi|fr|gl|he|hu|id|in|it|ja|jp|ko|kr|nl|no|pl|pt|ro|ru|sk|sv|th|tl|tr|tw|uk|vi|zh';
const CODES_BY_NAME: Readonly<Record<string, string>> = {
  arabic: 'ar',
  brazilian: 'pt',
  chinese: 'zh',
  czech: 'cs',
  deutsch: 'de',
  dutch: 'nl',
  english: 'en',
  french: 'fr',
  german: 'de',
  hungarian: 'hu',
  indonesian: 'id',
  italian: 'it',
  japanese: 'ja',
  korean: 'ko',
  polish: 'pl',
  portuguese: 'pt',
  russian: 'ru',
  schinese: 'zh',
  spanish: 'es',
  swedish: 'sv',
  tchinese: 'zh',
  thai: 'th',
  turkish: 'tr',
  ukrainian: 'uk',
  vietnamese: 'vi',
};

/** A code with a region or a script, which is the last part of a name: `menu_fr.properties`, `ja.po`, `de.lproj/`. */
const BY_CODE = new RegExp(
  String.raw`(^|[/._-])((${CODES})(?:[_-][A-Za-z]{2,4})?)((?:\.[^./]+$|\.lproj/|/))`,
  'd',
);
/** As Unity Localization names the bundles of tables: `portuguese(brazil)(pt-br)_assets_all.bundle`. */
const BY_PARENTHESES = new RegExp(
  String.raw`()([^/._()-]*(?:\([^/()]*\))?\((${CODES})(?:-[A-Za-z]{2,4})?\))`,
  'di',
);
const BY_NAME = new RegExp(String.raw`(^|[/._-])((${Object.keys(CODES_BY_NAME).join('|')}))(?=[/._-])`, 'di');
/** Ren'Py keeps the translations of a game there; `None` changes the game itself. */
const RENPY = /(?:^|\/)tl\/(?!None\/)([^/]+)\//;

export interface FileLanguage {
  /** A code of two letters; `null` for a translation into a language that no code is known of. */
  readonly code: string | null;
  /** Where the language stands in the path. */
  readonly start: number;
  readonly end: number;
  /** The path without it, which the files of other languages share. */
  readonly stem: string;
  /** Languages from which on such names are taken for languages. */
  readonly least: number;
}

/** The language in the name of a file or of its folder. */
export function languageOfFile(path: string): FileLanguage | null {
  if (RENPY.test(path)) return { code: null, start: 0, end: 0, stem: 'tl', least: 1 };
  for (const [expression, least] of [
    [BY_PARENTHESES, 2],
    [BY_CODE, 3],
    [BY_NAME, 2],
  ] as const) {
    const found = expression.exec(path);
    const [start, end] = found?.indices?.[2] ?? [];
    const word = found?.[3]?.toLowerCase();
    if (word === undefined || start === undefined || end === undefined) continue;
    const stem = `${path.slice(0, start)}{}${path.slice(end)}`;
    return { code: CODES_BY_NAME[word] ?? word, start, end, stem, least };
  }
  return null;
}

/** Whether texts in a language are those of the game, if its texts are in this script. */
export function isOwnLanguage(code: string | null, script: Script): boolean {
  return code !== null && (LANGUAGES_OF[script] ?? []).includes(code);
}

const FIELD = new RegExp(String.raw`(?:^|[./])((${CODES})(?:[_-][A-Za-z]{2,4})?|[A-Za-z]+)$`, 'i');

/** The languages that fields are named after, such as the columns of a table; empty where they are not. */
export function languagesOfFields(paths: Iterable<string>): ReadonlyMap<string, string> {
  const languages = new Map<string, string>();
  for (const path of paths) {
    const [, name = '', code] = FIELD.exec(path) ?? [];
    const language = code?.toLowerCase() ?? CODES_BY_NAME[name.toLowerCase()];
    if (language !== undefined) languages.set(path, language);
  }
  const certain = new Set([...languages.values()].filter((language) => !WORDS.has(language)));
  return certain.size > 1 ? languages : new Map();
}
