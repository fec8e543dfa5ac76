import { startTag, textElement } from '../../xml/xml-text.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { FileWriter } from '../../file-codec.ts';
import type { ReportedTerm } from '../../../contract/formats/glossary/term-import.ts';
import { TBX_CATEGORIES, TBX_STATUS } from './tbx-names.ts';

const XML_ID = /^[A-Za-z_][A-Za-z0-9_.-]*$/;

/**
 * Makes a writer of TBX-Basic (version 2, which most programs read). The recommended translation is the preferred term, allowed
 * ones are admitted, and those of a deprecated term are deprecated. A rejected term is left out.
 *
 * Source: LISA, TBX-Basic; ISO 30042:2008.
 */
export function createTbxWriter(pair: LanguagePair, version: string): FileWriter<ReportedTerm> {
  return {
    begin: () => {
      const title = textElement('title', 'Glossary');
      const source = textElement('p', `Slipway ${version}`);
      const categories = textElement('p', 'TBXBasicXCSV02.xcs', { type: 'XCSURI' });
      return `<?xml version="1.0" encoding="UTF-8"?>
${startTag('martif', { type: 'TBX-Basic', 'xml:lang': pair.sourceLanguage })}<martifHeader><fileDesc><titleStmt>${title}</titleStmt><sourceDesc>${source}</sourceDesc></fileDesc><encodingDesc>${categories}</encodingDesc></martifHeader>
<text><body>
`;
    },
    write: (term) => (term.review_status === 'rejected' ? '' : entryOf(term)),
    end: () => '</body></text></martif>\n',
  };
}

function entryOf(term: ReportedTerm): string {
  const { source_term, aliases, recommended_translation, allowed_translations } = term;
  const isDeprecated = term.review_status === 'deprecated';
  const source = languageSet(term.source_language, [source_term], aliases, false);
  const hasTarget = recommended_translation !== '' || allowed_translations.length > 0;
  const target = hasTarget
    ? languageSet(term.target_language, [recommended_translation], allowed_translations, isDeprecated)
    : '';
  const id = XML_ID.test(term.term_id) ? term.term_id : null;
  return `${startTag('termEntry', { id })}${valuesOf(term, id === null, hasTarget)}${source}${target}</termEntry>\n`;
}

function valuesOf(term: ReportedTerm, hasOwnId: boolean, hasTarget: boolean): string {
  const { source } = term;
  const admin: [string, string | undefined][] = [
    [TBX_CATEGORIES.termId, hasOwnId ? term.term_id : undefined],
    [TBX_CATEGORIES.reviewStatus, term.review_status],
    [TBX_CATEGORIES.priority, String(term.priority)],
    ...Object.entries(term.scope).map(([key, value]): [string, string] => [
      TBX_CATEGORIES.scope + key,
      value,
    ]),
    [TBX_CATEGORIES.targetLanguage, hasTarget ? undefined : term.target_language],
    [TBX_CATEGORIES.source, source.source_ref],
    [TBX_CATEGORIES.author, source.source_author],
  ];
  const category =
    term.category === '' ? '' : textElement('descrip', term.category, { type: TBX_CATEGORIES.subject });
  const values = admin.map(([type, value]) =>
    value === undefined ? '' : textElement('admin', value, { type }),
  );
  const note = source.source_note === undefined ? '' : textElement('note', source.source_note);
  return category + values.join('') + note;
}

function languageSet(
  language: string,
  preferred: readonly string[],
  admitted: readonly string[],
  isDeprecated: boolean,
): string {
  const termOf = (text: string, status: string): string =>
    `<tig>${textElement('term', text)}${textElement('termNote', status, { type: TBX_CATEGORIES.status })}</tig>`;
  const terms = [
    ...preferred.map((text) => termOf(text, isDeprecated ? TBX_STATUS.deprecated : TBX_STATUS.preferred)),
    ...admitted.map((text) => termOf(text, isDeprecated ? TBX_STATUS.deprecated : TBX_STATUS.admitted)),
  ];
  return `${startTag('langSet', { 'xml:lang': language })}${terms.join('')}</langSet>`;
}
