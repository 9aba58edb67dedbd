import { testNeeding } from '../harness/needs-program.ts';
import { programs } from '../harness/programs.ts';
import { render, variants } from './render.ts';
import { checkArguments, checkReferences, checkSettings } from './structure.ts';

const checks = {
  'what is referred to by name is there': checkReferences,
  'every variable is a setting, and the settings allow a start': checkSettings,
  "every argument is a command's": checkArguments,
} as const;

for (const variant of variants) {
  for (const [title, check] of Object.entries(checks))
    testNeeding([programs.kustomize], `${variant}: ${title}`, (kustomize) => {
      check(render(kustomize, variant));
    });
}
