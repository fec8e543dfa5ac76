import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { TermMissingRules } from '../../glossary/glossary-config.ts';
import type { GlossaryPort } from '../../glossary/glossary.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import type { ParseConfiguration } from '../../parse/rules/parse-config.ts';
import type { JudgedBy } from '../work/store/target-rows.ts';
import { createTargetOffers, type TargetOffers } from './offer-targets.ts';
import { createTargetJudge, type TargetJudge } from './target-judge.ts';
import { createTextRules, type TextRules } from './text-rules.ts';
import { createUnitSource, type UnitsAfterPort, type UnitSource } from './unit-source.ts';

/** What every target goes through, wherever it comes from: its unit is read, it is judged, and offered to the memory. */
export interface Judging {
  readonly judge: TargetJudge;
  readonly units: UnitSource;
  readonly offers: TargetOffers;
  /** The rules of the current configuration. @throws ServiceError `backend_unavailable` */
  readonly rules: () => Promise<TextRules>;
  /** The rules and the Glossary that targets are judged by now. @throws ServiceError `backend_unavailable` */
  readonly judgedBy: () => Promise<JudgedBy>;
}

interface JudgingOptions {
  readonly unitsAfter: UnitsAfterPort;
  readonly glossary: GlossaryPort;
  readonly memory: TranslationMemory;
  readonly languages: () => LanguagePair;
  readonly configuration: () => ParseConfiguration;
  readonly termMissing: () => TermMissingRules;
  readonly logger: Logger;
}

/** Assembles the judging of targets. */
export function createJudging(options: JudgingOptions): Judging {
  const rules = createTextRules(options.configuration);
  const judge = createTargetJudge({ ...options, rules });
  return {
    judge,
    units: createUnitSource(options.unitsAfter),
    offers: createTargetOffers(options),
    rules,
    judgedBy: async () => (await judge.judge([], { wasProofread: false })).by,
  };
}
