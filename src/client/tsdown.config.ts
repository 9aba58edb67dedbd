import { defineConfig, type UserConfig } from 'tsdown';

/** The package: ES modules and CommonJS, with types, of whatever the two entries reach in src. */
const config: UserConfig = defineConfig({
  entry: ['index.ts', 'verify.ts'],
  format: ['esm', 'cjs'],
  platform: 'node',
  target: 'node18',
  fixedExtension: false,
  dts: true,
  outputOptions: { comments: false },
  copy: [{ from: '../../LICENSE', to: 'dist' }],
});

export default config;
