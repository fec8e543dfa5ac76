/** The points of a publish where a test can stop the process, in the order in which they are reached. */
export const LOCALIZED_FAILPOINTS = [
  'localized.texts.frozen',
  'localized.container.patched',
  'localized.containers.patched',
  'localized.objects.committed',
  'localized.revision.written',
  'localized.texts.recorded',
  'localized.release.current',
  'localized.tasks.marked',
] as const;

/** One of {@link LOCALIZED_FAILPOINTS}. */
export type LocalizedFailpoint = (typeof LOCALIZED_FAILPOINTS)[number];
