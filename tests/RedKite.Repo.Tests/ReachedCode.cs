using System.Reflection;
using System.Reflection.Emit;

namespace RedKite.Repo.Tests;

/// <summary>
/// Which methods and fields a program reaches, by the instructions of its methods. Whoever overrides or implements what is reached is reached with it, and so is
/// what a type overrides of others' assemblies. A field is reached by who reads it, not by who writes it.
/// </summary>
internal sealed class ReachedCode
{
    internal const BindingFlags Members = BindingFlags.Instance | BindingFlags.Static | BindingFlags.Public | BindingFlags.NonPublic | BindingFlags.DeclaredOnly;

    private static readonly OpCode[] OneByte = new OpCode[256];
    private static readonly OpCode[] TwoBytes = new OpCode[256];

    private readonly HashSet<Assembly> _assemblies;
    private readonly HashSet<(Module Module, int Token)> _reached = [];
    private readonly HashSet<Type> _types = [];
    private readonly Dictionary<(Module Module, int Token), List<MethodBase>> _implementations = [];
    private readonly Dictionary<Type, List<MethodBase>> _callbacks = []; // what others' assemblies call of a type
    private readonly Stack<MethodBase> _unread = new();

    static ReachedCode()
    {
        foreach (FieldInfo field in typeof(OpCodes).GetFields())
        {
            if (field.GetValue(null) is OpCode code) (code.Size == 1 ? OneByte : TwoBytes)[code.Value & 0xFF] = code;
        }
    }

    internal ReachedCode(IEnumerable<Assembly> assemblies)
    {
        _assemblies = [.. assemblies];
        Types = [.. _assemblies.SelectMany(static assembly => assembly.GetTypes())];
        foreach (Type type in Types) ListImplementations(type);
    }

    internal IReadOnlyList<Type> Types { get; }

    internal bool Contains(MemberInfo member) => member is Type type ? _types.Contains(type) : _reached.Contains(KeyOf(member));

    /// <summary>A member that is called from outside.</summary>
    internal void Add(MemberInfo root)
    {
        Reach(root);
        while (_unread.TryPop(out MethodBase? method)) Read(method);
    }

    private static (Module Module, int Token) KeyOf(MemberInfo member) => (member.Module, member.MetadataToken);

    private void ListImplementations(Type type)
    {
        foreach (Type contract in type.IsInterface ? [] : type.GetInterfaces())
        {
            InterfaceMapping map = type.GetInterfaceMap(contract);
            for (int i = 0; i < map.InterfaceMethods.Length; i++)
            {
                if (map.TargetMethods[i] is { } target && _assemblies.Contains(target.Module.Assembly)) Implements(type, target, map.InterfaceMethods[i]);
            }
        }

        foreach (MethodInfo method in type.GetMethods(Members))
        {
            if (method.IsVirtual && method.GetBaseDefinition() is { } definition && KeyOf(definition) != KeyOf(method)) Implements(type, method, definition);
        }
    }

    private void Implements(Type type, MethodBase method, MethodBase definition)
    {
        bool isOurs = _assemblies.Contains(definition.Module.Assembly);
        List<MethodBase>? list;
        if (isOurs)
        {
            if (!_implementations.TryGetValue(KeyOf(definition), out list)) _implementations[KeyOf(definition)] = list = [];
        }
        else if (!_callbacks.TryGetValue(type, out list))
        {
            _callbacks[type] = list = [];
        }

        list.Add(method);
    }

    private void Reach(MemberInfo member)
    {
        if (member is Type type)
        {
            ReachType(type);
            return;
        }

        if (member.DeclaringType is { } owner) ReachType(owner);
        bool isOurs = _assemblies.Contains(member.Module.Assembly);
        foreach (Type argument in member is MethodInfo { IsGenericMethod: true } generic ? generic.GetGenericArguments() : [])
        {
            ReachType(argument);
            if (!isOurs && _assemblies.Contains(argument.Assembly) && !argument.IsGenericParameter) Array.ForEach(argument.GetConstructors(Members), Reach); // a service, which is made there
        }

        if (isOurs && _reached.Add(KeyOf(member)) && member is MethodBase method) _unread.Push(method);
    }

    private void ReachType(Type type)
    {
        while (type.HasElementType) type = type.GetElementType()!;
        if (type.IsGenericParameter) return;
        if (type.IsGenericType) Array.ForEach(type.GetGenericArguments(), ReachType);
        if (type is { IsGenericType: true, IsGenericTypeDefinition: false }) type = type.GetGenericTypeDefinition();
        if (!_assemblies.Contains(type.Assembly) || !_types.Add(type)) return;
        if (type.DeclaringType is { } outer) ReachType(outer);
        if (type.BaseType is { } above) ReachType(above);
        Array.ForEach(type.GetInterfaces(), ReachType);
        if (type.TypeInitializer is { } initializer) Reach(initializer);
        foreach (MethodBase callback in _callbacks.GetValueOrDefault(type) ?? []) Reach(callback);
        foreach (FieldInfo field in type.GetFields(Members)) ReachType(field.FieldType);
        foreach (CustomAttributeData attribute in type.GetCustomAttributesData()) Reach(attribute.Constructor);
    }

    private void Read(MethodBase method)
    {
        foreach (MethodBase implementation in _implementations.GetValueOrDefault(KeyOf(method)) ?? []) Reach(implementation);
        if (method is MethodInfo { ReturnType: { } result }) ReachType(result);
        foreach (ParameterInfo parameter in method.GetParameters()) ReachType(parameter.ParameterType);
        if (method.GetMethodBody() is not { } body) return;
        foreach (LocalVariableInfo local in body.LocalVariables) ReachType(local.LocalType);
        Type[]? ofType = method.DeclaringType is { IsGenericType: true } owner ? owner.GetGenericArguments() : null;
        Type[]? ofMethod = method.IsGenericMethod ? method.GetGenericArguments() : null;
        foreach (int token in TokensOf(body.GetILAsByteArray()!)) Reach(method.Module.ResolveMember(token, ofType, ofMethod)!);
    }

    private static IEnumerable<int> TokensOf(byte[] instructions)
    {
        for (int at = 0; at < instructions.Length;)
        {
            OpCode code = instructions[at] == 0xFE ? TwoBytes[instructions[++at]] : OneByte[instructions[at]];
            at++;
            int operand = at;
            at += code.OperandType switch
            {
                OperandType.InlineNone => 0,
                OperandType.ShortInlineBrTarget or OperandType.ShortInlineI or OperandType.ShortInlineVar => 1,
                OperandType.InlineVar => 2,
                OperandType.InlineI8 or OperandType.InlineR => 8,
                OperandType.InlineSwitch => 4 + (4 * BitConverter.ToInt32(instructions, operand)),
                _ => 4,
            };
            bool isMember = code.OperandType is OperandType.InlineMethod or OperandType.InlineField or OperandType.InlineTok or OperandType.InlineType;
            if (isMember && code != OpCodes.Stfld && code != OpCodes.Stsfld) yield return BitConverter.ToInt32(instructions, operand);
        }
    }
}
