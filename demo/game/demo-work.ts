/** A term of the demo's Glossary. */
export interface DemoTerm {
  readonly source_term: string;
  readonly recommended_translation: string;
  readonly category: string;
}

/** The work of the demo's translators on one container of the first release. */
export interface DemoWork {
  /** A glob over the destination: the name of a bundle holds a hash. */
  readonly destination: string;
  /** How many of its units get a target, from the first on. */
  readonly units: number;
  /** `drafts` are not finished; `accepted` ones are finished and a reviewer has accepted them. */
  readonly result: 'drafts' | 'translated' | 'accepted';
}

/** The people of the demo. */
export const DEMO_PEOPLE = { translator: 'mika', reviewer: 'rin' } as const;

/** Terms that a reviewer has approved. */
export const DEMO_TERMS: readonly DemoTerm[] = [
  { source_term: '先生', recommended_translation: '老师', category: 'person' },
  { source_term: '司令部', recommended_translation: '指挥部', category: 'place' },
  { source_term: 'ゲーム開発部', recommended_translation: '游戏开发部', category: 'organisation' },
  { source_term: '生徒会', recommended_translation: '学生会', category: 'organisation' },
];

/** The bundle of the first chapter; its name ends in a hash. */
export const DEMO_BUNDLE = 'Windows_PatchPack/scenario-chapter0_assets_all_*';

/**
 * Work that the second release changes: lines of these containers are changed, inserted, removed and moved, so that targets are
 * carried over, and some become stale.
 */
export const DEMO_WORK: readonly DemoWork[] = [
  { destination: 'TableBundles/Localize000.csv', units: 40, result: 'accepted' },
  { destination: 'Scenario/Scene0010.json', units: 20, result: 'accepted' },
  { destination: 'Scenario/Scene0003.json', units: 20, result: 'translated' },
  { destination: 'Scenario/Scene0007.json', units: 20, result: 'translated' },
  { destination: DEMO_BUNDLE, units: 40, result: 'accepted' },
  { destination: 'TableBundles/ExcelDB.db', units: 60, result: 'drafts' },
];

/** The container in which a translator forgets a placeholder, so that a unit is blocked. */
export const DEMO_BLOCKED = 'TableBundles/Localize001.csv';

/** The container with a unit that has two translations, both accepted. */
export const DEMO_CONFLICT = 'Scenario/Scene0012.json';
