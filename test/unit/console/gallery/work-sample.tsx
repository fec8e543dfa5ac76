import { CopyLine } from '../../../../src/console/components/copy-line.tsx';
import { JsonButton } from '../../../../src/console/components/json-button.tsx';
import { Stepper } from '../../../../src/console/components/stepper.tsx';
import type { ComponentSample } from './sample.ts';

/** The steps of a task in each state. */
export const stepperSample: ComponentSample = {
  title: 'Stepper',
  Body: () => (
    <Stepper
      label="Steps of the sample"
      steps={[
        { key: '1', text: 'compare', state: 'done', detail: '8,123 entries · in 2 s' },
        { key: '2', text: 'download', state: 'now', detail: '1.2 GB of 6.4 GB · 42 MB/s · about 2 min left' },
        { key: '3', text: 'verify', state: 'failed', detail: '12 entries' },
        { key: '4', text: 'manifest', state: 'stopped', detail: '' },
      ]}
    />
  ),
};

/** A command to copy, and data as JSON. */
export const jsonSample: ComponentSample = {
  title: 'Commands and JSON',
  Body: () => (
    <>
      <CopyLine line="slipway ctl run repair args=release_id=r90_one --wait" />
      <JsonButton
        title="the sample"
        value={{ release: 'r90_one', files: 3 }}
        command="slipway ctl report release.list"
      />
    </>
  ),
};
