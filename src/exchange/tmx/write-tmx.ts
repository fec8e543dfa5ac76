import type { MemoryRecord } from '../../domain/memory/memory-record.ts';
import { emptyElement, escapeXmlText, startTag, textElement, xmlParts } from '../xml/xml-text.ts';
import type { FileWriter } from '../file-codec.ts';
import { CODE_POINT_TYPE, TMX_PROPERTIES, TMX_PROVENANCE } from './tmx-record.ts';

/**
 * Makes a writer of TMX 1.4b. Characters of the texts that XML cannot carry are `ph` elements.
 *
 * @param sourceLanguage of the records
 * @param version of the program that writes
 *
 * Source: GALA, TMX 1.4b.
 */
export function createTmxWriter(sourceLanguage: string, version: string): FileWriter<MemoryRecord> {
  return {
    begin: () => {
      const header = emptyElement('header', {
        creationtool: 'slipway',
        creationtoolversion: version,
        segtype: 'block',
        'o-tmf': 'slipway',
        adminlang: 'en',
        srclang: sourceLanguage,
        datatype: 'plaintext',
      });
      return `<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">${header}<body>\n`;
    },
    write: unitOf,
    end: () => '</body></tmx>\n',
  };
}

function unitOf(record: MemoryRecord): string {
  const { source_language, target_language, source_text, target_text } = record;
  const start = startTag('tu', {
    tuid: record.record_id,
    srclang: source_language,
    creationdate: dateOf(record.created_at),
    creationid: record.reviewer,
    changedate: dateOf(record.confirmed_at ?? record.created_at),
  });
  const texts = variantOf(source_language, source_text) + variantOf(target_language, target_text);
  return `${start}${propertiesOf(record)}${texts}</tu>\n`;
}

function propertiesOf({ state, context, provenance }: MemoryRecord): string {
  const values: [string, string | null][] = [
    [TMX_PROPERTIES.state, state],
    ...Object.entries(context).map(([key, value]): [string, string] => [TMX_PROPERTIES.context + key, value]),
    ...TMX_PROVENANCE.map((name): [string, string | null] => [
      TMX_PROPERTIES.provenance + name,
      provenance[name],
    ]),
  ];
  return values.map(([type, value]) => (value === null ? '' : textElement('prop', value, { type }))).join('');
}

function variantOf(language: string, text: string): string {
  const parts = xmlParts(text).map((part) =>
    'text' in part
      ? escapeXmlText(part.text)
      : textElement('ph', part.codePoint.toString(16).padStart(4, '0'), { type: CODE_POINT_TYPE }),
  );
  return `${startTag('tuv', { 'xml:lang': language })}<seg>${parts.join('')}</seg></tuv>`;
}

/** A time as TMX writes it, such as 20260102T030405Z. */
function dateOf(unixSeconds: number): string {
  return new Date(unixSeconds * 1000).toISOString().replaceAll(/[-:]|\.\d+/g, '');
}
