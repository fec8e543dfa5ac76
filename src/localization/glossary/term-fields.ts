import type { BodyOf } from '../../contract/actions/body-of.ts';
import { ControlBodySchema } from '../../contract/actions/control-body.ts';
import { fieldErrorsOf } from '../../contract/problems/field-errors.ts';
import { ServiceError, type FieldError } from '../../contract/problems/service-error.ts';
import { foldText } from '../../domain/glossary/fold.ts';
import { MATCH_KEY, MATCH_SUBSTRING } from '../../domain/glossary/scope.ts';
import { canonicalLanguageTag, isLanguageTag } from '../../domain/text/language-tag.ts';
import type { TermFields, TermSource } from './store/stored-term.ts';

type Body = BodyOf<'translation-glossary-update'>;

/** Control characters of Unicode: none belongs into a term or its translation. */
const CONTROL = /\p{Cc}/u;

/**
 * Converts the fields of a body to fields of a term; fields that the body does not have stay away. Language tags get their
 * usual case.
 *
 * @throws ServiceError `invalid_request` that names each field
 */
export function termFieldsOf(body: Body): Partial<TermFields> {
  const errors = [
    ...wordingErrors(wordingsOf(body)),
    ...languageErrors(body, ['source_language', 'target_language']),
    ...scopeErrors(body.scope ?? {}),
    ...sourceErrors(body.source),
  ];
  if (errors.length > 0) throw invalidTerm(errors);
  const fields: { -readonly [Name in keyof TermFields]?: TermFields[Name] | undefined } = {
    sourceTerm: body.source_term,
    aliases: withoutRepeats(body.aliases),
    recommendedTranslation: body.recommended_translation,
    allowedTranslations: withoutRepeats(body.allowed_translations),
    sourceLanguage: body.source_language && canonicalLanguageTag(body.source_language),
    targetLanguage: body.target_language && canonicalLanguageTag(body.target_language),
    category: body.category,
    priority: body.priority,
    scope: body.scope,
    source: body.source === undefined ? undefined : sourceOf(body.source),
  };
  const given = Object.entries(fields).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given);
}

/**
 * The id that a body gives a new term.
 *
 * @returns `null` when it gives none
 * @throws ServiceError `invalid_request`
 */
export function givenTermId(termId: string | undefined): string | null {
  if (termId === undefined || termId === '') return null;
  const errors = wordingErrors([['/term_id', termId, false]]);
  if (errors.length > 0) throw invalidTerm(errors);
  return termId;
}

/** The fields of a new term. @throws ServiceError `invalid_request` that names each field */
export function newTermFieldsOf(body: BodyOf<'translation-glossary-add'>): TermFields {
  const defaults = { aliases: [], allowedTranslations: [], category: '', priority: 0, scope: {} };
  // The contract requires the fields that have no default.
  return { ...defaults, ...termFieldsOf({ ...body, term_id: '' }) } as TermFields;
}

/**
 * The fields of a new term that does not come from a request. It has no longer texts and lists than a request, so that the term can be
 * changed later.
 *
 * @throws ServiceError `invalid_request` that names each field
 */
export function importedFieldsOf(body: BodyOf<'translation-glossary-add'>): TermFields {
  const parsed = ControlBodySchema.safeParse(body);
  if (parsed.success) return newTermFieldsOf(body);
  throw new ServiceError('invalid_request', 'the term is not valid', {
    errors: fieldErrorsOf(parsed.error, 'field'),
  });
}

type Wording = readonly [pointer: string, text: string, mayBeBlank: boolean];

function wordingsOf(body: Body): Wording[] {
  return [
    ...listed('source_term', body.source_term, false),
    // A draft may wait for its translation; only an approved term needs one.
    ...listed('recommended_translation', body.recommended_translation, true),
    ...(body.aliases ?? []).map((text, index) => [`/aliases/${index}`, text, false] as const),
    ...(body.allowed_translations ?? []).map(
      (text, index) => [`/allowed_translations/${index}`, text, false] as const,
    ),
    ...listed('category', body.category, true),
  ];
}

function wordingErrors(wordings: readonly Wording[]): FieldError[] {
  return wordings.flatMap(([pointer, text, mayBeBlank]) => {
    if (CONTROL.test(text) || !text.isWellFormed()) {
      return [{ pointer, message: 'must not have control characters or halves of a surrogate pair' }];
    }
    const isBlank = foldText(text).text.trim() === '';
    return isBlank && !mayBeBlank ? [{ pointer, message: 'must not be blank' }] : [];
  });
}

function listed(field: string, text: string | undefined, mayBeBlank: boolean): Wording[] {
  return text === undefined ? [] : [[`/${field}`, text, mayBeBlank]];
}

function languageErrors(
  body: Body,
  fields: readonly ('source_language' | 'target_language')[],
): FieldError[] {
  return fields.flatMap((field) => {
    const tag = body[field];
    if (tag === undefined || isLanguageTag(tag)) return [];
    return [{ pointer: `/${field}`, message: 'must be a language tag such as ja or zh-Hans' }];
  });
}

function scopeErrors(scope: Readonly<Record<string, string>>): FieldError[] {
  return Object.entries(scope).flatMap(([key, value]) => {
    const pointer = `/scope/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (key === MATCH_KEY && value !== MATCH_SUBSTRING) {
      return [{ pointer, message: `must be ${MATCH_SUBSTRING}, or be left out` }];
    }
    const isUsable = key.trim() !== '' && !CONTROL.test(key) && key.isWellFormed() && value.isWellFormed();
    return isUsable ? [] : [{ pointer, message: 'must have a name and be well-formed text' }];
  });
}

/** Notes may have line ends and marks of direction, but what SQLite or UTF-8 would lose is refused. */
function sourceErrors(source: Body['source']): FieldError[] {
  return (['source_ref', 'source_author', 'source_note'] as const).flatMap((field) => {
    const text = source?.[field] ?? '';
    if (text.isWellFormed() && !text.includes('\0')) return [];
    return [{ pointer: `/source/${field}`, message: 'must not have NUL or halves of a surrogate pair' }];
  });
}

function withoutRepeats(texts: readonly string[] | undefined): readonly string[] | undefined {
  return texts === undefined ? undefined : [...new Set(texts)];
}

function sourceOf(source: NonNullable<Body['source']>): TermSource {
  return {
    kind: source.source_kind,
    observedAt: source.observed_unix_seconds,
    ref: source.source_ref ?? null,
    author: source.source_author ?? null,
    note: source.source_note ?? null,
  };
}

function invalidTerm(errors: readonly FieldError[]): ServiceError {
  return new ServiceError('invalid_request', 'the term is not valid; "errors" names each field', { errors });
}
