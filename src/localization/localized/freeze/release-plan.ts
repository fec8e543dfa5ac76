import type {
  PublishableContainer,
  PublishedBefore,
} from '../../translation/work/publication/publishable-targets.ts';
import type { TargetMoment } from '../../translation/publishing/publishing.ts';

interface PlannedFile {
  readonly position: number;
  readonly destination: string;
  readonly containers: PublishableContainer[];
}

export type FreezeStep =
  /** The units of these files must be read, with their targets. */
  | { readonly kind: 'read'; readonly first: number; readonly last: number }
  /** A file without texts: its counts say everything. */
  | {
      readonly kind: 'count';
      readonly destination: string;
      readonly containers: readonly PublishableContainer[];
      readonly units: number;
    }
  /** A file beyond the globs. */
  | { readonly kind: 'exclude'; readonly units: number };

export interface PlannedRelease {
  readonly releaseId: string;
  readonly generation: number;
  readonly previous: PublishedBefore | null;
}

/**
 * Plans a freeze: most files of a release have no translation, and reading their units would be most of its time.
 *
 * @returns the steps in the order of the index; `null` when the tasks are not those of the release
 */
export async function planFreeze(
  moment: TargetMoment,
  release: PlannedRelease,
  isSelected: (destination: string) => boolean,
  signal: AbortSignal,
): Promise<readonly FreezeStep[] | null> {
  const files: PlannedFile[] = [];
  let afterTask: number | null = 0;
  while (afterTask !== null) {
    const page: Awaited<ReturnType<TargetMoment['containers']>> = await moment.containers(
      { ...release, afterTask },
      signal,
    );
    if (page === null) return null;
    for (const container of page.items) addContainer(files, container);
    afterTask = page.next;
  }
  const steps: FreezeStep[] = [];
  for (const file of files) addStep(steps, file, isSelected(file.destination));
  return steps;
}

function addContainer(files: PlannedFile[], container: PublishableContainer): void {
  const last = files.at(-1);
  if (last?.position === container.position) last.containers.push(container);
  else {
    const { position, destination } = container;
    files.push({ position, destination, containers: [container] });
  }
}

/** Files that are read and that are beside each other are read together. */
function addStep(
  steps: FreezeStep[],
  { position, destination, containers }: PlannedFile,
  isSelected: boolean,
): void {
  const hasTexts = containers.some((container) => container.hasTexts);
  if (!isSelected || !hasTexts) {
    const units = containers.reduce((sum, container) => sum + container.units, 0);
    steps.push(isSelected ? { kind: 'count', destination, containers, units } : { kind: 'exclude', units });
    return;
  }
  const last = steps.at(-1);
  if (last?.kind === 'read') steps.splice(-1, 1, { ...last, last: position });
  else steps.push({ kind: 'read', first: position, last: position });
}
