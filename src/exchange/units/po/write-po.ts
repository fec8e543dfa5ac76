import { ExchangeFileError } from '../../../contract/formats/exchange-file-error.ts';
import type { UnitLanguages, UnitRecord, UnitWriter } from '../unit-record.ts';
import { isReviewed, OWN_COMMENT } from './po-names.ts';
import { poComment, poString, requirePoText } from './po-text.ts';

/**
 * Makes a writer of catalogs of gettext. The id of a unit is the context of its message, the speaker and the note are extracted
 * comments, the place is a reference, and a target that nobody has reviewed is fuzzy. One comment holds the values that PO has no
 * place for. Source: GNU gettext manual, "The Format of PO Files".
 */
export function createPoWriter({ sourceLanguage, targetLanguage }: UnitLanguages): UnitWriter {
  return {
    begin: () => {
      const header = [
        'MIME-Version: 1.0',
        'Content-Type: text/plain; charset=UTF-8',
        'Content-Transfer-Encoding: 8bit',
        `Language: ${targetLanguage.replaceAll('-', '_')}`,
        `X-Source-Language: ${sourceLanguage}`,
        'X-Generator: Slipway',
      ];
      return `${poString('msgid', '')}${poString('msgstr', header.map((line) => `${line}\n`).join(''))}`;
    },
    write(record) {
      try {
        return messageOf(record);
      } catch (error) {
        if (!(error instanceof ExchangeFileError)) throw error;
        throw new ExchangeFileError(error.reason, `unit ${record.unit_id}: ${error.message}`, null);
      }
    },
    end: () => '',
  };
}

function messageOf(record: UnitRecord): string {
  const { locator, context, note, previous_source: before, target_text: target } = record;
  const isFuzzy = target !== null && !isReviewed(record.state);
  return [
    '\n',
    ...(note === null ? [] : note.split('\n').map((line) => poComment('#.', line))),
    ...Object.entries(context).map(([key, text]) => poComment('#.', `${key}: ${text}`)),
    poComment('#.', `${OWN_COMMENT} ${ownValues(record)}`),
    poComment('#:', referenceOf(locator)),
    isFuzzy ? '#, fuzzy\n' : '',
    before === null ? '' : poString('msgid', before, '#| '),
    poString('msgctxt', record.unit_id),
    poString('msgid', record.source_text),
    poString('msgstr', target ?? ''),
  ].join('');
}

/** The place for people and programs. References are separated by blanks. */
function referenceOf({ destination, archive_entry: entry, field_path: path }: UnitRecord['locator']): string {
  return [destination, ...(entry === null ? [] : [entry]), path].join(':').replaceAll(/\s+/g, '_');
}

/** The values that PO has no place for, as JSON in one line. */
function ownValues({ state, locator, revision, note, context, previous_target }: UnitRecord): string {
  const texts = [...Object.values(locator), ...Object.entries(context).flat(), note, previous_target];
  for (const text of texts) requirePoText(text ?? '');
  const json = JSON.stringify({ state, locator, revision, note, context, previous_target });
  // JSON escapes the other characters that programs take for a line end. polib breaks long comments at blanks and hyphens.
  return json.replaceAll(
    /[ \-\x85\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
