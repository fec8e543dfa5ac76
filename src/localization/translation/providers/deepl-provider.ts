import { readXmlText, writeXmlText } from '../../../domain/translation/xml-text.ts';
import { failure, type Result } from '../../../domain/result.ts';
import type { MaskedText } from '../../../domain/translation/placeholder-mask.ts';
import { splitPlaceholders } from '../../../domain/text/placeholders.ts';
import { maskUnits, restoredRow } from './answer-rows.ts';
import { translateUntilSettled, type AnswerRows, type RowFailure } from './ask-until-settled.ts';
import { createDeeplServer } from './deepl-server.ts';
import { askOptions, type ProviderHttpOptions } from './provider-http.ts';
import {
  NO_MODEL,
  type TranslationProvider,
  type TranslationRequest,
  type UnitToTranslate,
} from './provider.ts';
import { charactersOf, priced, spend, usageOfCharacters, type Usage } from './spending.ts';

/** Texts of one request. Source: developers.deepl.com, "Translate text". */
const MOST_TEXTS = 50;
/** Characters of one request, so that it is within its bytes with three for each, escapes and context. */
const MOST_CHARACTERS = 24_000;
const CONTEXT_CHARACTERS = 4000;

/**
 * Translates with DeepL. Placeholders are XML tags; the texts around are the context, which costs nothing; the Glossary is a glossary
 * at DeepL. It knows no length and no characters.
 */
export function createDeeplProvider(name: string, options: ProviderHttpOptions): TranslationProvider {
  const { limits, prices } = options.config;
  const size = {
    units: Math.min(limits.batchUnits, MOST_TEXTS),
    characters: Math.min(limits.batchCharacters, MOST_CHARACTERS),
  };
  const server = createDeeplServer(options);

  const ask = async (
    request: TranslationRequest,
    units: readonly UnitToTranslate[],
    count: (used: Usage) => void,
  ): Promise<AnswerRows> => {
    const { lines, rows } = xmlLines(units);
    if (lines.length === 0) return { providerRunId: null, rows };
    const estimate = charactersOf(lines.map(({ unit }) => unit));
    const { texts, traceId } = await spend(
      request.spending,
      estimate,
      prices,
      count,
      async (_longest, { sent, settle }) => {
        const question = {
          texts: lines.map(({ xml }) => xml),
          context: contextOf(units),
          characters: estimate.characters,
          sent,
        };
        const answer = await server.translate(question, request);
        settle(priced({ ...estimate, characters: answer.billed ?? estimate.characters }, prices));
        return answer;
      },
    );
    for (const [index, { unit, masked }] of lines.entries()) {
      const text = texts[index];
      if (typeof text === 'string') rows.set(unit.unitId, restoredRow(readXmlText(text), masked, 'xml'));
    }
    return { providerRunId: traceId, rows };
  };

  return {
    name,
    kind: 'deepl',
    ...NO_MODEL,
    stepSize: size,
    requestsPerUnit: limits.requestsPerUnit,
    beginRun: options.breaker.tryAgain,
    estimate: ({ units }) => usageOfCharacters(units, size, prices),
    translateBatch: async (request) =>
      await translateUntilSettled(request.units, { ...askOptions(options, request), size }, (units, count) =>
        ask(request, units, count),
      ),
  };
}

interface XmlLine {
  readonly unit: UnitToTranslate;
  readonly masked: MaskedText;
  readonly xml: string;
}

const NO_XML: RowFailure = {
  code: 'request_refused',
  message: 'the source has a control character that DeepL cannot be sent',
};

/** The texts that can be sent, and the failures of the others. */
function xmlLines(units: readonly UnitToTranslate[]): {
  readonly lines: readonly XmlLine[];
  readonly rows: Map<string, Result<string, RowFailure>>;
} {
  const { sendable, failed } = maskUnits(units, 'xml');
  const rows = new Map(failed);
  const lines = sendable.flatMap(({ unit, masked }) => {
    const xml = writeXmlText(masked.text);
    if (xml === null) rows.set(unit.unitId, failure(NO_XML));
    return xml === null ? [] : [{ unit, masked, xml }];
  });
  return { lines, rows };
}

/** The texts around some lines in their order, as plain text: DeepL does not read its tags. */
function contextOf(units: readonly UnitToTranslate[]): string {
  const around = new Map(units.flatMap((unit) => unit.around.map(({ place, text }) => [place, text])));
  const texts = [...around].toSorted(([one], [other]) => one - other);
  let context = '';
  for (const [, text] of texts) {
    const words = splitPlaceholders(text).filter((_part, at) => at % 2 === 0);
    const line = words
      .join('')
      .replaceAll(/[<>&\p{Cc}\s]+/gu, ' ')
      .trim();
    if (context.length + line.length + 1 > CONTEXT_CHARACTERS) break;
    if (line !== '') context += `${context === '' ? '' : '\n'}${line}`;
  }
  return context;
}
