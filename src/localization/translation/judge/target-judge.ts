import { setImmediate } from 'node:timers/promises';
import type { FieldConstraints } from '../../../domain/text/checks/check-input.ts';
import { checkTarget } from '../../../domain/text/checks/check-target.ts';
import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { TermMissingRules } from '../../glossary/glossary-config.ts';
import type { GlossaryPort } from '../../glossary/glossary.ts';
import type { Finding, JudgedBy } from '../work/store/target-rows.ts';
import { fieldConstraints, type JudgingRule } from './field-constraints.ts';
import { judgedKey } from './judged-key.ts';
import { glossaryFindings } from './glossary-findings.ts';
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

/** Says what is wrong with targets: the one entrance for those of workers, people and files. */
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
  readonly glossary: Pick<GlossaryPort, 'diagnose'>;
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
      const settings = { termMissing: termMissing(), languages: pair, glossaryPath, wasProofread };
      const { digest, ...compiled } = await rules();
      const constraintsOf = createConstraintLookup(compiled);
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
      const by = {
        key: judgedKey({ ...settings, digest, generation }),
        generation: glossaryPath === undefined ? generation : null,
      };
      return { by, judgements };
    },
  };
}

/** Looks up the constraints of fields. The rule of a container is searched once. */
function createConstraintLookup({
  ruleFor,
}: Pick<TextRules, 'ruleFor'>): (place: TextPlace) => FieldConstraints {
  const byContainer = new Map<string, JudgingRule>();
  return ({ destination, archiveEntry, fieldPath }) => {
    const key = JSON.stringify([destination, archiveEntry]);
    const rule = byContainer.get(key) ?? ruleFor(destination, archiveEntry);
    byContainer.set(key, rule);
    return fieldConstraints(rule, fieldPath);
  };
}
