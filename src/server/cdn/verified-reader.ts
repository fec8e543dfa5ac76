import type { Channel } from '../../domain/channel.ts';
import type { ManifestEntry } from '../../domain/manifest.ts';
import type { Logger } from '../../platform/logging.ts';
import type { DamageReport } from '../serving/serving.ts';
import { byteFaultOf, VerifiedObject, type BlockSpan, type VerifiedObjectDeps } from './verified-object.ts';
import { DescriptorCache } from './descriptor-cache.ts';

/** An entry whose object is open, for one request. */
export interface EntryReader {
  readonly entry: ManifestEntry;
  /** See {@link VerifiedObject.read}; damage is reported before the fault is thrown. */
  read(span: BlockSpan, keep: boolean): Promise<Buffer>;
  /** Ends the use; further calls do nothing. */
  release(): void;
}

/** Gives out verified bytes of entries. */
export interface VerifiedReader {
  /**
   * Opens the object of an entry.
   *
   * @param generation of the serving state that the entry comes from
   * @throws ByteFault; damage is reported before
   */
  open(entry: ManifestEntry, generation: number, channel: Channel): Promise<EntryReader>;
  /** Descriptors open now. */
  readonly openDescriptors: number;
  /** Closes what is not in use, and what is when its reader ends. */
  close(): void;
}

/** What {@link createVerifiedReader} needs. */
export interface VerifiedReaderDeps extends VerifiedObjectDeps {
  readonly reportDamage: (report: DamageReport) => void;
  readonly logger: Logger;
  /** Most descriptors kept open while nobody reads. */
  readonly openDescriptors: number;
}

/** Makes the reader of one snapshot volume. */
export function createVerifiedReader(deps: VerifiedReaderDeps): VerifiedReader {
  const { source, memory, metrics, reportDamage, logger } = deps;
  const descriptors = new DescriptorCache<VerifiedObject>({
    limit: deps.openDescriptors,
    open: async (entry) => new VerifiedObject(deps, entry, await source.open(entry)),
    onCloseError: (error) => {
      logger.warn({ err: error }, 'an object could not be closed');
    },
  });

  const watch = async <T>(
    entry: ManifestEntry,
    channel: Channel,
    operation: () => Promise<T>,
  ): Promise<T> => {
    try {
      return await operation();
    } catch (error) {
      const fault = byteFaultOf(error);
      if (fault.kind !== 'overloaded') {
        // Whoever comes next shall look at the file that is there then: it may have been repaired.
        descriptors.drop(entry.blake3);
        memory.forget(entry.blake3);
        metrics.damage.inc({ kind: fault.kind });
        logger.error(
          { channel, destination: entry.destination, blake3: entry.blake3, kind: fault.kind },
          fault.message,
        );
        reportDamage({
          destination: entry.destination,
          blake3: entry.blake3,
          kind: fault.kind,
          message: fault.message,
        });
      }
      throw fault;
    }
  };

  return {
    open: async (entry, generation, channel) => {
      const lease = await watch(entry, channel, async () => await descriptors.acquire(entry, generation));
      return {
        entry,
        read: async (span, keep) =>
          await watch(entry, channel, async () => await lease.value.read(span, keep)),
        release: () => {
          lease.release();
        },
      };
    },
    get openDescriptors() {
      return descriptors.open;
    },
    close: () => {
      descriptors.dropAll();
    },
  };
}
