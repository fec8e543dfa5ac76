import { setImmediate } from 'node:timers/promises';
import type { FieldConstraints, FieldEncoding } from '../../../domain/text/checks/check-input.ts';
import { UTF_16, UTF_8 } from '../../../domain/text/checks/field-encodings.ts';
import { isTableEncoding, tableEncoding } from '../../../formats/text/table-encoding.ts';
import { blake3Hex } from '../../../platform/hashing/blake3.ts';
import type { UnitDiagnosis } from '../../glossary/glossary-diagnosis.ts';
import { checkTarget } from '../../../domain/text/checks/check-target.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { TermMissingRules } from '../../glossary/glossary-config.ts';
import type { GlossaryPort } from '../../glossary/glossary.ts';
import { containerKey, type Finding, type JudgedBy } from '../work/store/target-rows.ts';
import type { CompiledRule } from '../../parse/rules/compile-rules.ts';
import type { TextRules } from './text-rules.ts';
import { contextOf, type TextPlace } from './text-place.ts';

/** A target, its source, and where they are. */
export interface TextToJudge {
  readonly place: TextPlace;
  readonly sourceText: string;
  readonly targetText: string;
}

/** What is wrong with a target. Waivers and overrides are not applied yet. */
export interface Judgement {
  readonly findings: readonly Finding[];
  /** Of the Glossary diagnosis. */
  readonly qaIdentity: string;
}

export interface JudgeOptions {
  /** Whether a proofread has accepted units of the container; missing terms can block from then on. */
  readonly wasProofread: boolean;
  /** Another Glossary below its root; default the main one. */
  readonly glossaryPath?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

interface Judgements {
  /** The rules and the Glossary that they were judged by. */
  readonly by: JudgedBy;
  readonly judgements: readonly Judgement[];
}

/** Finds what is wrong with targets of workers, people and files. */
export interface TargetJudge {
  /**
   * Checks targets of one container against the constraints of their fields and the Glossary. The event loop has its turn after
   * every 50 texts.
   *
   * @throws ServiceError `backend_unavailable`, `invalid_path`, `file_not_found`; the signal's reason
   */
  judge(texts: readonly TextToJudge[], options: JudgeOptions): Promise<Judgements>;
}

interface TargetJudgeOptions {
  readonly glossary: GlossaryPort;
  readonly rules: () => Promise<TextRules>;
  readonly languages: () => LanguagePair;
  readonly termMissing: () => TermMissingRules;
}

/** Texts, and UTF-16 code units of them, that are checked before the event loop has its turn. */
const STEP = { texts: 50, characters: 64 * 1024 };

/** Creates the judge. */
export function createTargetJudge({
  glossary,
  rules,
  languages,
  termMissing,
}: TargetJudgeOptions): TargetJudge {
  return {
    judge: async (texts, { wasProofread, glossaryPath, signal }) => {
      const pair = languages();
      // Read before the Glossary is asked: when they change meanwhile, the key is the old one, and the targets are judged again.
      const missing = termMissing();
      const compiled = await rules();
      const constraintsOf = constraintLookup(compiled);
      const { generation, diagnoses } = await glossary.diagnose(
        {
          languages: pair,
          withoutConstraints: true,
          ...(glossaryPath === undefined ? {} : { glossaryPath }),
          units: texts.map(({ place, sourceText, targetText }) => ({
            sourceText,
            translatedText: targetText,
            context: contextOf(place),
            wasProofread,
          })),
        },
        signal,
      );
      const judgements: Judgement[] = [];
      const step = { texts: 0, characters: 0 };
      for (const [index, { place, sourceText, targetText }] of texts.entries()) {
        step.texts += 1;
        step.characters += sourceText.length + targetText.length;
        if (step.texts > STEP.texts || step.characters > STEP.characters) {
          await setImmediate();
          signal?.throwIfAborted();
          Object.assign(step, { texts: 1, characters: 0 });
        }
        const diagnosis = diagnoses[index];
        if (diagnosis === undefined) throw new Error('the Glossary gave fewer diagnoses than texts');
        const own = checkTarget({
          ...constraintsOf(place),
          ...pair,
          source: sourceText,
          target: targetText,
        });
        judgements.push({
          findings: [
            ...own.map((finding) => ({ ...finding, origin: 'target' as const })),
            ...glossaryFindings(diagnosis),
          ],
          qaIdentity: diagnosis.qa_identity,
        });
      }
      const key = judgedKey(compiled.digest, generation, missing, pair, glossaryPath);
      const by = {
        key: containerKey(key, wasProofread),
        generation: glossaryPath === undefined ? generation : null,
      };
      return { by, judgements };
    },
  };
}

/** Looks up the constraints of fields. The rule of a container is searched once. */
export function constraintLookup(rules: TextRules): (place: TextPlace) => FieldConstraints {
  const byContainer = new Map<string, CompiledRule>();
  return ({ destination, archiveEntry, fieldPath }) => {
    const key = JSON.stringify([destination, archiveEntry]);
    const rule = byContainer.get(key) ?? rules.ruleFor(destination, archiveEntry);
    byContainer.set(key, rule);
    return fieldConstraints(rule, fieldPath);
  };
}

function fieldEncoding(encoding: CompiledRule['encoding']): FieldEncoding {
  if (isTableEncoding(encoding)) return tableEncoding(encoding);
  return encoding === 'utf-8' ? UTF_8 : UTF_16;
}

/** Formats whose strings are UTF-8, whatever the encoding of text files is. */
const ALWAYS_UTF_8: ReadonlySet<CompiledRule['format']> = new Set(['unity', 'sqlite', 'flatbuffers']);

function fieldConstraints(
  { format, encoding, constraints }: CompiledRule,
  fieldPath: string,
): FieldConstraints {
  const { charset, tags } = constraints;
  return {
    ...constraints.limitsFor(fieldPath),
    encoding: ALWAYS_UTF_8.has(format) ? UTF_8 : fieldEncoding(encoding),
    tagGrammar: tags,
    ...(charset === null
      ? {}
      : { glyphs: { has: (codePoint) => charset.has(String.fromCodePoint(codePoint)) } }),
  };
}

const MAX_FINDINGS = 20;
/** Codes whose place is in the translation. */
const IN_TARGET: ReadonlySet<string> = new Set(['forbidden_translation', 'untranslated_term_left']);

/** The findings of a diagnosis, at most 20 of each code. A `glossary_override` accepts them, and a waiver does not. */
function glossaryFindings({ diagnostics }: UnitDiagnosis): Finding[] {
  const counts = new Map<string, number>();
  const findings: Finding[] = [];
  for (const { code, severity, span, message } of diagnostics) {
    const count = (counts.get(code) ?? 0) + 1;
    counts.set(code, count);
    if (count > MAX_FINDINGS) continue;
    const isInTarget = IN_TARGET.has(code);
    findings.push({
      check: code,
      origin: 'glossary',
      severity,
      message,
      waivable: false,
      source_span: isInTarget ? null : span,
      target_span: isInTarget ? span : null,
    });
  }
  return findings;
}

/** Increase it when the checks of this program find something else than before: stored targets are judged again then. */
const CHECKS_VERSION = 2;
const KEY_DIGITS = 32;

/**
 * The name of the rules and the Glossary that a target is judged by.
 *
 * @param digest of the rules of containers
 * @param glossaryPath the file of another Glossary than the main one
 */
function judgedKey(
  digest: string,
  generation: number,
  termMissing: TermMissingRules,
  languages: LanguagePair,
  glossaryPath: string | undefined,
): string {
  const named = [CHECKS_VERSION, digest, generation, termMissing, languages, glossaryPath ?? null];
  return blake3Hex(Buffer.from(JSON.stringify(named))).slice(0, KEY_DIGITS);
}
