import type { BenchPeer } from '../bench-row.ts';
import { median } from '../statistics.ts';
import type { Measured } from './measure-peer.ts';

/** The medians of a peer's runs. */
export function figuresOf(
  peer: string,
  measured: readonly Measured[],
): BenchPeer & { readonly figures: Measured } {
  const of = (figure: keyof Measured): number => median(measured.map((each) => each[figure]));
  return {
    peer,
    figures: {
      requestsPerSecond: of('requestsPerSecond'),
      bytesPerSecond: of('bytesPerSecond'),
      cpuMicrosecondsPerRequest: of('cpuMicrosecondsPerRequest'),
      cpuSecondsPerGigabyte: of('cpuSecondsPerGigabyte'),
      residentBytes: of('residentBytes'),
    },
  };
}

/** The figures and costs of two peers, as text. */
export function costNote(
  figure: 'requests' | 'bytes',
  { figures: ours }: { readonly figures: Measured },
  { figures: theirs }: { readonly figures: Measured },
): string {
  const mebibytes = (each: Measured): string => (each.residentBytes / 2 ** 20).toFixed(0);
  const memory = `RSS ${mebibytes(ours)} MiB against ${mebibytes(theirs)}`;
  return figure === 'bytes'
    ? `${(ours.bytesPerSecond / 1e6).toFixed(0)} MB/s against ${(theirs.bytesPerSecond / 1e6).toFixed(0)}, CPU ${ours.cpuSecondsPerGigabyte.toFixed(2)} s/GB against ${theirs.cpuSecondsPerGigabyte.toFixed(2)}, ${memory}`
    : `${ours.requestsPerSecond.toFixed(0)} requests/s against ${theirs.requestsPerSecond.toFixed(0)}, CPU ${ours.cpuMicrosecondsPerRequest.toFixed(0)} µs/request against ${theirs.cpuMicrosecondsPerRequest.toFixed(0)}, ${memory}`;
}
