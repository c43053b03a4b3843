using RedKite.Store.Keyspace;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Persistence.Rdb;

/// <summary>
/// Writes a vector set in steps (<see cref="RdbValueSteps"/>), as the module of Redis that has vector sets does:
/// <code>
/// id of the module
/// dimensions   elements   M * 256 + quantization   1: projected, 2: there are attributes
/// if projected: dimensions before, floats of the projection
/// elements: name, attributes (if there are any), vector, number of parameters, parameters:
///   id, level, for each level from the lowest: links, most links, ids of the linked elements; then range * 2^32 + norm, as bits
/// </code>
/// That is the form of Redis 8.0.2. From 8.0.6 on Redis adds 2^24 to the level and writes distance * 2^32 + index of the worst link behind each level's links; it still
/// reads this form, which all releases therefore can.
/// Each is a part of a module's data: see <see cref="RdbModule"/>.
/// </summary>
internal struct RdbVectorSetSteps
{
    internal const int IsProjected = 1;
    internal const int HasAttributes = 2;

    private readonly Database _database;
    private readonly nint _entry;
    private Part _next;
    private int _number;

    internal RdbVectorSetSteps(Database database, Entry entry)
    {
        _database = database;
        _entry = entry.Address;
    }

    private enum Part
    {
        Form,
        Projection,
        Name,
        Attributes,
        Vector,
        Links,
    }

    internal bool Step(RdbOutput output)
    {
        VectorSetValue set = VectorSetValue.Of(_database, Store.Keyspace.Entry.FromBlock(_entry));
        switch (_next)
        {
            case Part.Form:
                WriteForm(output, set);
                _next = set.Form.ProjectedFrom > 0 ? Part.Projection : Part.Name;
                return true;
            case Part.Projection:
                RdbModule.WriteUnsigned(output, (ulong)set.Form.ProjectedFrom);
                RdbModule.WriteString(output, set.Projection);
                _next = Part.Name;
                return true;
        }

        while (_number < set.Numbers && !set.AtOrNone(_number).Exists) _number++;
        if (_number == set.Numbers)
        {
            RdbModule.WriteEnd(output);
            return false;
        }

        StepElement(output, set, set.At(_number));
        return true;
    }

    private void StepElement(RdbOutput output, VectorSetValue set, VectorElement element)
    {
        switch (_next)
        {
            case Part.Name:
                RdbModule.WriteString(output, element.Name);
                _next = set.WithAttributes > 0 ? Part.Attributes : Part.Vector;
                break;
            case Part.Attributes:
                RdbModule.WriteString(output, element.Attributes);
                _next = Part.Vector;
                break;
            case Part.Vector:
                RdbModule.WriteString(output, element.Stored);
                _next = Part.Links;
                break;
            default:
                WriteLinks(output, set.Form, element);
                _number++;
                _next = Part.Name;
                break;
        }
    }

    private static void WriteForm(RdbOutput output, VectorSetValue set)
    {
        VectorSetForm form = set.Form;
        output.Length(RdbModule.VectorSet);
        RdbModule.WriteUnsigned(output, (ulong)form.Dimensions);
        RdbModule.WriteUnsigned(output, (ulong)set.Count);
        RdbModule.WriteUnsigned(output, ((ulong)form.Links << 8) | (ulong)form.Quantization);
        RdbModule.WriteUnsigned(output, (form.ProjectedFrom > 0 ? (ulong)IsProjected : 0) | (set.WithAttributes > 0 ? (ulong)HasAttributes : 0));
    }

    private static void WriteLinks(RdbOutput output, VectorSetForm form, VectorElement element)
    {
        int parameters = 3;
        for (int level = 0; level <= element.Level; level++) parameters += 2 + element.Links(level).Length;
        RdbModule.WriteUnsigned(output, (ulong)parameters);
        RdbModule.WriteUnsigned(output, IdOf(element.Number));
        RdbModule.WriteUnsigned(output, (ulong)element.Level);
        for (int level = 0; level <= element.Level; level++)
        {
            ReadOnlySpan<int> links = element.Links(level);
            RdbModule.WriteUnsigned(output, (ulong)links.Length);
            RdbModule.WriteUnsigned(output, (ulong)(level == 0 ? form.Links * 2 : form.Links));
            foreach (int number in links) RdbModule.WriteUnsigned(output, IdOf(number));
        }

        RdbModule.WriteUnsigned(output, ((ulong)BitConverter.SingleToUInt32Bits(element.Range) << 32) | BitConverter.SingleToUInt32Bits(element.Norm));
    }

    // Ids begin at 1.
    private static ulong IdOf(int number) => (ulong)number + 1;
}
