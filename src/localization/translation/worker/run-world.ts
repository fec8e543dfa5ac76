import type { LanguagePair } from '../../../domain/glossary/term.ts';
import type { Logger } from '../../../platform/logging/logging.ts';
import type { Clock } from '../../../platform/process/clock.ts';
import type { GlossaryPort } from '../../glossary/glossary.ts';
import type { TranslationMemory } from '../../memory/translation-memory.ts';
import type { TargetOffers } from '../judge/offer-targets.ts';
import type { TargetJudge } from '../judge/target-judge.ts';
import type { UnitSource } from '../judge/unit-source.ts';
import type { CharacterSheet } from '../providers/character-sheet.ts';
import type { TranslationProvider } from '../providers/provider.ts';
import type { Spending } from '../providers/spending.ts';
import type { TranslationThread } from '../work/translation-worker.ts';
import type { RunSettings } from './run-settings.ts';
import type { RunTally } from './run-tally.ts';

/** The other parts that runs use. */
export interface RunPorts {
  readonly thread: TranslationThread;
  readonly units: UnitSource;
  readonly judge: TargetJudge;
  readonly memory: TranslationMemory;
  readonly offers: TargetOffers;
  readonly glossary: GlossaryPort;
  readonly languages: () => LanguagePair;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
}

/** How a run works, and with what. */
export interface RunSetup extends RunPorts {
  readonly settings: RunSettings;
  readonly provider: TranslationProvider;
  readonly characters: CharacterSheet;
}

/** Everything that the chunks of one run share. */
export interface RunWorld extends RunSetup {
  readonly spending: Spending;
  readonly tally: RunTally;
}
