import type { JSX } from 'preact';
import type { View } from '../../../../src/console/state/view.ts';
import { badgeSample } from './badge-sample.tsx';
import {
  ribbonSample,
  ringSample,
  sparklineSample,
  storageSample,
  throughputSample,
} from './chart-sample.tsx';
import { chipTextSample } from './chip-text-sample.tsx';
import { dialogSample } from './dialog-sample.tsx';
import { controlSample } from './control-sample.tsx';
import { formSample } from './form-sample.tsx';
import { listAndTreeSample } from './list-and-tree-sample.tsx';
import { longTableSample } from './long-table-sample.tsx';
import { logSample, panelSample, taskSample } from './panel-sample.tsx';
import { jsonSample, stepperSample } from './work-sample.tsx';
import type { ComponentSample } from './sample.ts';

/** Add a row here for a new component; a test finds components without one. */
const SAMPLES: readonly ComponentSample[] = [
  badgeSample,
  controlSample,
  formSample,
  dialogSample,
  panelSample,
  taskSample,
  logSample,
  longTableSample,
  listAndTreeSample,
  stepperSample,
  jsonSample,
  ribbonSample,
  sparklineSample,
  ringSample,
  storageSample,
  throughputSample,
  chipTextSample,
];

/** All components in every state, for those who change them. */
export const componentsView: View = { feeds: () => [], Body: Components };

function Components(): JSX.Element {
  return (
    <>
      {SAMPLES.map(({ title, Body }, index) => (
        <section class="panel" aria-labelledby={`sample-${index}`} key={title}>
          <h2 id={`sample-${index}`}>{title}</h2>
          <Body />
        </section>
      ))}
    </>
  );
}
