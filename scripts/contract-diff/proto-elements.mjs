/** Every element of an image of buf as one line that changes when the element does, such as `process.PID.pid = 1 uint32`. */
export function listElements(image) {
  return image.file.flatMap((file) => {
    const scope = file.package ?? "";
    return [
      ...(file.messageType ?? []).flatMap((message) => ofMessage(message, scope)),
      ...(file.enumType ?? []).flatMap((it) => ofEnum(it, scope)),
      ...(file.service ?? []).flatMap((service) => ofService(service, scope)),
    ];
  });
}

function ofMessage(message, scope) {
  const name = `${scope}.${message.name}`;
  return [
    `message ${name}`,
    ...(message.field ?? []).map(
      (field) =>
        `field ${name}.${field.name} = ${field.number} ${field.label === "LABEL_REPEATED" ? "repeated " : ""}${field.typeName?.slice(1) ?? field.type}`,
    ),
    ...(message.nestedType ?? []).flatMap((nested) => ofMessage(nested, name)),
    ...(message.enumType ?? []).flatMap((nested) => ofEnum(nested, name)),
  ];
}

function ofEnum(it, scope) {
  const name = `${scope}.${it.name}`;
  return [`enum ${name}`, ...(it.value ?? []).map((value) => `value ${name}.${value.name} = ${value.number ?? 0}`)];
}

function ofService(service, scope) {
  const name = `${scope}.${service.name}`;
  const stream = (isStream) => (isStream ? "stream " : "");
  return [
    `service ${name}`,
    ...(service.method ?? []).map(
      (method) =>
        `rpc ${name}.${method.name}(${stream(method.clientStreaming)}${method.inputType.slice(1)}) ${stream(method.serverStreaming)}${method.outputType.slice(1)}`,
    ),
  ];
}
