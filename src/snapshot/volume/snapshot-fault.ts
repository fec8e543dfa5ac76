import type { SnapshotId } from '../../domain/release/digest.ts';

/** The manifest of a snapshot cannot be used: it is not there, or it is not what its name says. */
export class SnapshotFault extends Error {
  readonly kind: 'missing' | 'damaged';
  readonly snapshotId: SnapshotId;

  constructor(kind: 'missing' | 'damaged', snapshotId: SnapshotId, message: string) {
    super(message);
    this.name = 'SnapshotFault';
    this.kind = kind;
    this.snapshotId = snapshotId;
  }
}
