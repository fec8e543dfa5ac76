/** Where a text is: what its rule, the scopes of the Glossary and the contexts of the Translation Memory depend on. */
export interface TextPlace {
  readonly destination: string;
  readonly archiveEntry: string | null;
  readonly fieldPath: string;
  readonly speaker: string | null;
  readonly scene: string | null;
}

/** A place as the map of strings that scopes and contexts are; facts that a text does not have are left out. */
export function contextOf({
  destination,
  archiveEntry,
  fieldPath,
  speaker,
  scene,
}: TextPlace): Record<string, string> {
  return {
    destination,
    field_path: fieldPath,
    ...(archiveEntry === null ? {} : { archive_entry: archiveEntry }),
    ...(speaker === null ? {} : { speaker }),
    ...(scene === null ? {} : { scene }),
  };
}
