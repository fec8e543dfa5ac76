import { benchRow, type BenchRow } from '../bench-row.ts';
import type { PairedRounds } from '../paired-rounds.ts';
import type { ByteCase } from './byte-case.ts';
import type { Measured } from './measure-peer.ts';
import { costNote, figuresOf } from './peer-figures.ts';

/** The result of a peer that is only reported. */
export interface OtherPeer {
  readonly name: string;
  readonly measured: readonly Measured[];
}

/** The rows of one case: the comparison with the peer, and the cost where it has its own bound. */
export function rowsOfCase(
  each: ByteCase,
  { pairs, noisyRounds, isConclusive }: PairedRounds<Measured>,
  names: { readonly ours: string; readonly theirs: string; readonly others: readonly OtherPeer[] },
): BenchRow[] {
  const rate = ({ bytesPerSecond, requestsPerSecond }: Measured): number =>
    each.figure === 'bytes' ? bytesPerSecond : requestsPerSecond;
  const [ours, theirs] = [pairs.map((pair) => pair.ours), pairs.map((pair) => pair.theirs)];
  const [mine, its] = [figuresOf(names.ours, ours), figuresOf(names.theirs, theirs)];
  const others = names.others.map(({ name, measured }) => figuresOf(name, measured));
  const reported = others.map(
    ({ peer, figures }) => `${peer} ${(rate(figures) / rate(its.figures)).toFixed(2)}`,
  );
  const client = `${each.client === 'wrk' ? 'wrk' : 'sockets client'}, ${each.connections} connections`;
  const common = { noisyRounds, peers: [mine, its, ...others] };
  const ratios = pairs.map((pair) => rate(pair.ours) / rate(pair.theirs));
  const compared: BenchRow = {
    ...benchRow({
      name: `bytes: ${each.name}`,
      rounds: ratios,
      unit: `x ${names.theirs}`,
      bound: { atLeast: each.target },
      judged: isConclusive,
      note: [client, costNote(each.figure, mine, its), ...reported].join('; '),
    }),
    ...common,
  };
  const most = each.mostCpuSecondsPerGigabyte;
  if (most === undefined) return [compared];
  const costs = ours.map(({ cpuSecondsPerGigabyte }) => cpuSecondsPerGigabyte);
  return [
    compared,
    {
      ...benchRow({
        name: `bytes: ${each.name}, processor time`,
        rounds: costs,
        unit: 's/GB',
        bound: { atMost: most },
        judged: isConclusive,
        note: `${client}; the same rounds`,
      }),
      ...common,
    },
  ];
}
