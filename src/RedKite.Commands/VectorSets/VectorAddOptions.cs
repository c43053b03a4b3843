using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.VectorSets;

namespace RedKite.Server.Commands.VectorSets;

/// <summary>The arguments of VADD.</summary>
internal struct VectorAddOptions
{
    /// <summary>REDUCE: the dimensions to which the vector is projected; 0: it is not.</summary>
    internal int Reduced { get; private set; }

    /// <summary>The argument that names the element.</summary>
    internal int Element { get; private set; }

    /// <summary>The argument with the attributes; 0: none is given.</summary>
    internal int Attributes { get; private set; }

    internal int Effort { get; private set; }

    internal int Links { get; private set; }

    internal VectorQuantization Quantization { get; private set; }

    // How often CAS is given.
    private int _threaded;

    internal static bool TryReadOrReply(scoped in CommandContext cmd, out VectorAddOptions options, out Span<float> vector)
    {
        options = new VectorAddOptions { Effort = VectorSetLimits.AddingEffortDefault, Links = VectorSetLimits.LinksDefault, Quantization = VectorQuantization.Int8 };
        vector = default;
        int at = 2;
        if (cmd.Is(at, "REDUCE"u8))
        {
            if (!RespNumber.TryParseInt64(cmd[at + 1], out long reduced) || reduced < 1)
            {
                cmd.Reply.Error("ERR invalid vector specification"u8);
                return false;
            }

            options.Reduced = (int)Math.Min(reduced, int.MaxValue);
            at += 2;
        }

        if (!cmd.TryVectorOrReply(ref at, out vector)) return false;
        if (options.Reduced > vector.Length)
        {
            cmd.Reply.Error("ERR invalid vector specification"u8);
            return false;
        }

        if (at == cmd.Count)
        {
            cmd.ReplyWrongCount("VADD");
            return false;
        }

        options.Element = at;
        return options.TryOptionsOrReply(cmd, at + 1);
    }

    /// <summary>The form of a new set.</summary>
    internal readonly bool TryFormOrReply(scoped in CommandContext cmd, int dimensions, out VectorSetForm form)
    {
        form = Reduced == 0 ? new VectorSetForm(dimensions, 0, Links, Quantization) : new VectorSetForm(Reduced, dimensions, Links, Quantization);
        bool wasAccepted = cmd.WasAccepted; // by another server: a log, or a primary's stream
        long floatsMax = wasAccepted ? VectorSetLimits.ProjectionFloatsMax : VectorSetLimits.NewProjectionFloatsMax;
        return (long)Reduced * dimensions <= floatsMax || VectorSetAccess.ReplyTooManyDimensions(cmd);
    }

    /// <summary>Whether the arguments fit a set that exists; otherwise replies why not.</summary>
    internal readonly bool FitOrReply(scoped in CommandContext cmd, VectorSetForm form, int dimensions)
    {
        if (Quantization != form.Quantization)
        {
            cmd.Reply.Error("ERR asked quantization mismatch with existing vector set"u8);
            return false;
        }

        if (Links != form.Links)
        {
            cmd.Reply.Error("ERR asked M value mismatch with existing vector set"u8);
            return false;
        }

        if (form.ProjectedFrom > 0 ? Reduced != form.Dimensions : dimensions != form.Dimensions)
        {
            cmd.ReplyDimensions(dimensions, form.Dimensions);
            return false;
        }

        if (form.ProjectedFrom == 0)
        {
            if (Reduced > 0) cmd.Reply.Error("ERR cannot add projection to existing set without projection"u8);
            return Reduced == 0;
        }

        if (dimensions != form.ProjectedFrom) cmd.ReplyProjection(dimensions, form.ProjectedFrom);
        return dimensions == form.ProjectedFrom;
    }

    /// <summary>Leaves CAS out of what replicas and the log get: Redis ends if a command blocks while it loads a log.</summary>
    internal readonly void ReportWithoutThreads(scoped in CommandContext cmd)
    {
        if (_threaded == 0 || !cmd.Recording.TakesEffects) return;
        EffectArguments effect = cmd.Effect("VADD"u8, cmd.Count - _threaded);
        for (int i = 1; i <= Element; i++) effect.Argument(cmd[i]);
        for (int i = Element + 1; i < cmd.Count; i++)
        {
            if (cmd.Is(i, "CAS"u8)) continue;
            effect.Argument(cmd[i]);
            if (cmd.Is(i, "SETATTR"u8) || cmd.Is(i, "EF"u8) || cmd.Is(i, "M"u8)) effect.Argument(cmd[++i]);
        }
    }

    private bool TryOptionsOrReply(scoped in CommandContext cmd, int first)
    {
        var reader = new OptionReader(cmd, first);
        while (reader.More)
        {
            // CAS asks Redis to look for neighbours on another thread: every reply is the same with it.
            if (reader.Take("CAS"u8))
            {
                _threaded++;
                continue;
            }

            if (reader.Take("Q8"u8)) Quantization = VectorQuantization.Int8;
            else if (reader.Take("BIN"u8)) Quantization = VectorQuantization.Binary;
            else if (reader.Take("NOQUANT"u8)) Quantization = VectorQuantization.None;
            else if (reader.TakeWithValue("SETATTR"u8, out int attributes)) Attributes = attributes;
            else if (reader.TakeWithValue("EF"u8, out int effort))
            {
                if (!TryNumberOrReply(cmd, effort, 1, VectorSetLimits.EffortMax, "ERR invalid EF"u8, out int value)) return false;
                Effort = value;
            }
            else if (reader.TakeWithValue("M"u8, out int links))
            {
                if (!TryNumberOrReply(cmd, links, VectorSetLimits.LinksMin, VectorSetLimits.LinksMax, "ERR invalid M"u8, out int value)) return false;
                Links = value;
            }
            else
            {
                cmd.Reply.Error("ERR invalid option after element"u8);
                return false;
            }
        }

        return true;
    }

    private static bool TryNumberOrReply(scoped in CommandContext cmd, int argument, int min, int max, ReadOnlySpan<byte> message, out int value)
    {
        bool fits = RespNumber.TryParseInt64(cmd[argument], out long number) && number >= min && number <= max;
        value = fits ? (int)number : 0;
        if (!fits) cmd.Reply.Error(message);
        return fits;
    }
}
